"""Parts of a pattern, and what a pattern has to say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wirespeed.patterns.block_list import Blocks
from wirespeed.patterns.rules import RankRule, Shown, SizeRule, Timing
from wirespeed.units import size_word


@dataclass(frozen=True)
class Transfer:
    """`bytes` to or from `peer`, at `offset` in this rank's send or receive buffer.

    `remote_offset`: where they lie in the peer's receive buffer (of a send) or send buffer (of a receive).
    """

    peer: int
    bytes: int
    offset: int = 0
    remote_offset: int = 0
    back: bool = False
    """Inside a rank: it goes from the receive buffer to the send buffer."""
    blocks: Blocks | None = None
    """The bytes are scattered: both offsets are those of a pool, from which the blocks' places count."""

    @property
    def parts(self) -> tuple[Transfer, ...]:
        """One transfer for each of its blocks, for a transport that takes no lists."""
        blocks = self.blocks
        if blocks is None:
            return (self,)
        return tuple(
            Transfer(self.peer, blocks.bytes, self.offset + place, self.remote_offset + remote, self.back)
            for place, remote in zip(blocks.places, blocks.remote_places, strict=True)
        )


@dataclass(frozen=True)
class Place:
    """So many bytes behind the start of the receive buffer; a kernel gets the address."""

    offset: int


@dataclass(frozen=True)
class Work:
    """A launch of one of the core's kernels on the rank's own device; a CPU runs it as one thread."""

    kernel: str
    arguments: tuple[int | float | Place, ...]
    """Whole numbers, doubles and places in the order of the kernel's arguments."""
    blocks: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Collective:
    """An operation of all ranks, as a library does it in one call; places count from the buffer's start."""

    operation: str
    type: str
    reduction: str
    root: int
    count: int
    """Elements of a rank's block; of the whole buffer where every rank has all of it."""
    given: int
    given_bytes: int
    got: int
    got_bytes: int
    gets: bool
    """Does this rank get a result? Not the root of a broadcast, and of a reduction only the root."""
    in_place: bool


@dataclass(frozen=True)
class Step:
    """Transfers that run concurrently, and work; the next step starts when all are done.

    Every rank has work in the same steps.
    """

    sends: tuple[Transfer, ...] = ()
    receives: tuple[Transfer, ...] = ()
    after: tuple[Work, ...] = ()
    """Follows what the step receives."""
    meanwhile: tuple[Work, ...] = ()
    """Needs nothing that the step receives."""
    gated: tuple[Work, ...] = ()
    """In place of both where a path orders kernels by flags: argument 0 is the gate (kernels/gate.h)."""
    collective: Collective | None = None
    """In place of all else: the transport's own operation of all ranks; such a step is an iteration."""


@dataclass(frozen=True)
class Sums:
    """Doubles that iterations change: `before`, `before` + 1, ... `before` + 1023, `before`, ...

    Afterwards those at `offset` begin with `after`.
    """

    bytes: int
    before: float
    after: float
    offset: int = 0


@dataclass(frozen=True)
class Derived:
    """Another figure of the same samples: `amount` / seconds in GB/s or messages/s, or seconds * `amount`."""

    name: str
    amount: float
    unit: str = "GB/s"


@dataclass(frozen=True)
class Figure:
    """Meaning of a sample: a time of sample / divisor seconds, in which `bytes` bytes were moved.

    `definition` begins with what the seconds are called, then a colon: "one way: half of a round trip".
    """

    divisor: float
    bytes: int
    definition: str
    derived: tuple[Derived, ...] = ()

    @property
    def timed(self) -> str:
        """What the seconds are called."""
        return self.definition.split(":")[0].split(",")[0]


@dataclass(frozen=True)
class Team:
    """Ranks whose work is one figure. The teams of a phase have no rank in common."""

    name: str
    ranks: Sequence[int]


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

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    def word(self, value: Any) -> str:
        """A value as the command line takes it."""
        return size_word(value) if self.metavar == "SIZE" else str(value)


@dataclass(frozen=True)
class Shape:
    """The job as a pattern sees it."""

    ranks: int
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: int | None = None
    """Limit of bytes for each of a rank's two buffers; None: no limit."""


COMPUTES = "computes with what arrives"


class Pattern(ABC):
    """Who sends what to whom: pure functions of one rank's number, so that no rank stores global state.

    A subclass names itself and defines `steps` and `figure`; the rest has defaults that suit two ranks.
    """

    name: str
    summary: str
    """One line, for the list of commands. It stands behind `name`: both are read in the source."""
    help: str = ""
    """The rest of --help: what is measured, and examples."""
    options: tuple[Option, ...] = ()
    ranks = RankRule()
    """Number of ranks by default, where `rank_rule` says nothing else."""
    sizes = SizeRule()
    """Sizes by default, where `size_rule` says nothing else."""
    timing = Timing()
    shown = Shown()
    baseline: str = ""
    """Simpler way to move the same bytes, which the last phase measures by turns with the reported one."""
    scattered = False
    """It sends lists of blocks, which paths may move in ways of their own (`TransferPath.lists`)."""
    in_place = False
    """Each rank sends from and receives into the same buffer."""
    intra_rank = False
    """Ranks move bytes between their own buffers, not between each other."""
    needs_device = ""
    """Why it measures nothing without a GPU, and what helps; '': it does."""
    one_sided = False
    """It needs operations on a peer's memory that no message accompanies (`TransferPath.one_sided`)."""
    budget_s = 60.0
    """Seconds of a launch, start and end included, where nobody says how long."""
    followed_by: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(pattern, paths) measured after it, into the same file, with --messages."""
    collective = False
    """An operation of all ranks that moves data, which libraries have calls for."""
    of_all_ranks = False
    """An operation of all ranks: libraries have calls for it, or algorithms do it in steps."""
    program = False
    """A program: the figure is the time of a step of its field (wirespeed/programs)."""

    def refuse(self, shape: Shape) -> str | None:
        """Why this job cannot run the pattern, in one line; None if it can."""
        exact = self.rank_rule(shape.options).exact
        if exact is None or shape.ranks == exact:
            return None
        return (
            f"{self.name} takes exactly {'two' if exact == 2 else exact} ranks, not {shape.ranks}: "
            f"start it with -n {exact}"
        )

    def size_rule(self, shape: Shape) -> SizeRule:
        """Which sizes it takes in this job."""
        return self.sizes

    def blocks_sent(self, shape: Shape, size: int) -> int:
        """Number of blocks in lists that a rank sends in one iteration."""
        return 0

    def rank_rule(self, options: Mapping[str, Any]) -> RankRule:
        """How many ranks it takes with these options."""
        return self.ranks

    def barriers(self, shape: Shape) -> bool:
        """Does every sample begin with a barrier of all ranks?"""
        return self.timing.barrier

    def completed(self, options: dict[str, Any], gpus: bool) -> dict[str, Any]:
        """The options with those defaults that depend on the machine."""
        return options

    def links(self, shape: Shape, size: int) -> int | None:
        """Links of the chain that loads follow, where an iteration is one load; None: it moves bytes.

        A transfer names the chain then, and the transport itself checks where the loads lead.
        """
        return None

    def check(self, shape: Shape) -> str:
        """Name of the check of what arrives (wirespeed/rank/check/checks.py)."""
        return "bytes"

    def lacks_soak(self, shape: Shape) -> str:
        """Why it has no soak: it 'computes with what arrives'; '': it has one."""
        if self.sums(0, shape, 8) is not None:
            return COMPUTES
        if self.intra_rank:
            return "sends no messages between ranks"
        return "moves bytes without the receiver" if self.one_sided else ""

    def least_traffic(self, rank: int, shape: Shape, size: int) -> list[Step]:
        """Steps that move as many bytes as any way to do it must."""
        return self.steps(rank, shape, size)

    def arrival(self, rank: int, shape: Shape, size: int) -> tuple[int, int, int] | None:
        """(place, bytes, bytes of an element) of the result; None: what the last step receives."""
        return None

    def damage(self, rank: int, shape: Shape) -> tuple[int, Place] | None:
        """For tests: a place behind all else, and one of what it computes; None: messages are damaged."""
        return None

    def least_iterations(self, shape: Shape) -> int:
        """Timed iterations that are done however precise the figure is before."""
        return 0

    def phases(self, shape: Shape) -> int:
        """Number of phases: different sets of transfers that are measured one after the other."""
        return 1

    def takes_turns(self, shape: Shape) -> bool:
        """Do iterations of one size leave what those of another need? Then both may run by turns."""
        return self.phases(shape) == 1

    @abstractmethod
    def steps(self, rank: int, shape: Shape, size: int, phase: int = 0) -> list[Step]:
        """Steps of `rank` in one iteration of a phase, in order."""

    def team(self, rank: int, shape: Shape, phase: int = 0) -> Team | None:
        """The team of `rank` in a phase; None where it has nothing to do."""
        return Team("", range(shape.ranks))

    def sums(self, rank: int, shape: Shape, size: int, iterations: int = 1) -> Sums | None:
        """Doubles that iterations must make of the numbers they add to; None: they move bytes unchanged."""
        return None

    def reported_phase(self, shape: Shape) -> int | None:
        """The phase whose slowest team is the figure; None: the slowest team of all phases."""
        return None

    def extent(self, rank: int, shape: Shape, size: int) -> int:
        """Bytes that each of this rank's two buffers needs in any phase (here: in the first one)."""
        ends = [
            transfer.offset + transfer.bytes
            for step in self.steps(rank, shape, size)
            for transfer in (*step.sends, *step.receives)
        ]
        return max(ends, default=0)

    @abstractmethod
    def figure(self, shape: Shape, size: int) -> Figure:
        """Bytes and time of a figure, for one team of the reported phase."""
