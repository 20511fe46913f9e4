"""Parts of a pattern: its options, sizes, ranks and paths, and how it is sampled, checked and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from wirespeed.patterns.steps import Sums
from wirespeed.units import parse_sizes, size_word

LIBRARY, BEST, EVERY = "library", "best", "all"
"""Who does an operation of all ranks: the path's library, the fastest of our algorithms, or each of all."""
VARIANTS = ("registered", "symmetric", "graph")
"""Other ways in which the libraries of some paths do it (`Transport.variants`)."""


@dataclass(frozen=True)
class Option:
    """A pattern's own option on the command line: a whole number, a choice, or a flag."""

    name: str
    help: str
    default: int | str | bool | None
    least: int = 1
    most: int = 10_000_000
    choices: tuple[str, ...] = ()
    metavar: str = "N"
    many: bool = False
    """The option takes a list; each of its values is measured."""
    for_transport: bool = False
    """The transport reads the option, not the pattern."""
    in_one_table: bool = False
    """True if all values of a list are measured in one run."""
    each_node: bool = False
    """If it is not given, the pattern is measured again for each NUMA node, where there are several."""
    by_machine: tuple[Any, Any] = (None, None)
    """Its default on GPUs, and on CPUs, where that is not the same."""
    content: Callable[[str], str] | None = None
    """Digest of the file that it names, so that one that has changed is another value."""

    @property
    def usual(self) -> Any:
        """Its default, that on GPUs where machines differ."""
        return self.by_machine[0] if self.default is None else self.default

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    def word(self, value: Any) -> str:
        """A value as the command line takes it."""
        return size_word(value) if self.metavar == "SIZE" else str(value)


@dataclass(frozen=True)
class SizeRule:
    """Sizes of a pattern in a job of its shape."""

    usual: str = "1:1G"
    """Measured unless the user names others."""
    soak: str = "8,64K,1M"
    """Those of a soak."""
    option: str = "sizes"
    """Option that lists them, where they are not those of messages."""
    label: str = "message size"
    """Name of a chart's axis of sizes."""
    least: int = 0
    """Bytes of the smallest size that moves something; smaller ones become it."""
    fixed: tuple[int, ...] | None = None
    """The sizes, where the pattern itself defines them."""
    fixed_by: str = ""
    """Option that makes it do so; '': it always does."""
    refuse: Callable[[int], str | None] = lambda size: None
    """Why a size cannot be measured, in one line; None if it can."""
    that_fits: Callable[[int, int], str] = lambda size, memory: ""
    """Advice on what to write so that each buffer of a size has room in so many bytes; '': a smaller size."""

    def chosen(self, named: Iterable[int] = (), *, soak: bool = False) -> tuple[int, ...]:
        """Those that are measured; `named`: by the user."""
        if self.fixed is not None:
            return self.fixed
        sizes = tuple(named) or parse_sizes(self.soak if soak else self.usual)
        return tuple(dict.fromkeys(max(size, self.least) for size in sizes))


@dataclass(frozen=True)
class RankRule:
    """Numbers of ranks of a pattern with its options."""

    exact: int | None = 2
    """It takes this number; None: --ranks says, or `usual`."""
    usual: int | None = None
    """Without --ranks; None: one for each GPU, or CPU."""
    per_gpu: bool = False
    """One for each GPU, `usual` at least."""
    by_option: bool = False
    """An option of the pattern asks for more of them."""

    @property
    def many(self) -> bool:
        """Can it be told to take more ranks than two?"""
        return self.exact is None or self.by_option

    @property
    def wanted(self) -> int | None:
        """Ranks to start without --ranks; None: one per processor."""
        return self.exact or self.usual


@dataclass(frozen=True)
class Timing:
    """How samples of a pattern are taken."""

    barrier: bool = False
    """Every sample begins with a barrier of all ranks."""
    slowest: bool = False
    """A team's time is that of its slowest rank, not of its first one."""
    alone_too: bool = False
    """Each team is measured alone, too, before the figure, which is that of all at once."""
    phases: int = 1
    """Sets of transfers that are measured one after the other."""
    reported: int | None = None
    """The phase whose slowest team is the figure; None: the slowest team of all phases."""
    baseline: str = ""
    """Simpler way to move the same bytes, which the last phase measures by turns with the reported one."""
    least_iterations: int = 0
    """Timed iterations that are done however precise the figure is before."""
    goes_on: bool = False
    """An iteration needs what the one before has left, so that no other size may run between them."""
    budget_s: float = 60.0
    """Seconds of a launch, start and end included, where nobody says how long."""

    @property
    def takes_turns(self) -> bool:
        """May iterations of several sizes run by turns?"""
        return self.phases == 1 and not self.goes_on


@dataclass(frozen=True)
class Shown:
    """How a report shows the pattern's figures."""

    view: str = "sizes"
    """Name of its view in a report (wirespeed/report/views): rows by size, unless it names another one."""
    by_size: bool = True
    """The least time and the most bandwidth over all sizes tell what a path is worth."""
    counts_copies: bool = False
    """Its table also says how often each path copies between a GPU and its host."""
    by_host: bool = False
    """The pattern assumes that ranks are placed host by host; a report says where they are not."""
    published: bool = False
    """Published curves, and the ping-pong tutorial's lines, are figures of this pattern."""
    by_nccl_tests: bool = False
    """An operation of all ranks that moves data: nccl-tests has a table of it."""
    followed_by: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(pattern, paths) measured after it, into the same file, with --messages."""


@dataclass(frozen=True)
class Kind:
    """What a pattern does, which decides which paths may do it."""

    in_place: bool = False
    """Each rank sends from and receives into the same buffer."""
    intra_rank: bool = False
    """Ranks move bytes between their own buffers, not between each other."""
    needs_device: str = ""
    """Why it measures nothing without a GPU, and what helps; '': it does."""
    one_sided: bool = False
    """It needs operations on a peer's memory that no message accompanies (`TransferPath.operations`)."""
    scattered: bool = False
    """It sends lists of blocks, which paths may move in ways of their own (`TransferPath.lists`)."""
    of_all_ranks: bool = False
    """An operation of all ranks: libraries have calls for it, or algorithms do it in steps."""
    program: bool = False
    """A program: the figure is the time of a step of its field (wirespeed/programs)."""


COMPUTES = "computes with what arrives"


@dataclass(frozen=True)
class Checking:
    """How it is checked that the bytes have arrived."""

    of: str = "bytes"
    """Name of the check (wirespeed/rank/check/checks.py)."""
    sums: Callable[[int, int, int], Sums] | None = None
    """Doubles that (rank, size, iterations) must make of the numbers they add to; None: bytes stay."""
    links: Callable[[int], int] | None = None
    """Links of the chain of a size that loads follow, where an iteration is one load.

    A transfer names the chain then, and the transport itself checks where the loads lead.
    """
    no_soak: str = ""
    """Why a soak could not check it, where its kind does not say so already (wirespeed/job/soaking.py)."""
