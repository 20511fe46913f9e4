"""Parts of a pattern, and what a pattern has to say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
    blocks: int = 0
    """Blocks in lists that a rank sends in one iteration."""

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
class Shape:
    """The job as a pattern sees it."""

    ranks: int
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: int | None = None
    """Limit of bytes for each of a rank's two buffers; None: no limit."""


COMPUTES = "computes with what arrives"


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
    """Why there is no soak of it; '': there is one, unless `Pattern.lacks_soak` knows better."""


Self = TypeVar("Self", bound="Pattern")


class Pattern(ABC):
    """Who sends what to whom: pure functions of one rank's number, so that no rank stores global state.

    A subclass names itself and defines `steps` and `figure`; the rest has defaults that suit two ranks. A
    part that depends on the job, or on the options, is a property: `at` puts the pattern into a job, whose
    `shape` all functions know.
    """

    name: str
    summary: str
    """One line, for the list of commands. It stands behind `name`: both are read in the source."""
    help: str = ""
    """The rest of --help: what is measured, and examples."""
    options: tuple[Option, ...] = ()
    kind = Kind()
    shown = Shown()
    shape = Shape(2)

    def at(self: Self, shape: Shape) -> Self:
        """The pattern in this job."""
        found = copy(self)
        found.shape = shape
        return found

    def __getitem__(self, key: str) -> Any:
        """The value of one of its options: the job's, or the default."""
        usual = next(option.usual for option in self.options if option.key == key)
        given = self.shape.options.get(key)
        return usual if given is None else given

    @property
    def ranks(self) -> int:
        return self.shape.ranks

    @property
    def rank_rule(self) -> RankRule:
        """How many ranks it takes."""
        return RankRule()

    @property
    def size_rule(self) -> SizeRule:
        """Which sizes it takes."""
        return SizeRule()

    @property
    def timing(self) -> Timing:
        """How samples are taken."""
        return Timing()

    @property
    def checking(self) -> Checking:
        return Checking()

    def refuse(self) -> str | None:
        """Why this job cannot run the pattern, in one line; None if it can."""
        exact = self.rank_rule.exact
        if exact is None or self.ranks == exact:
            return None if self.ranks > 1 or self.kind.intra_rank else f"{self.name} takes two ranks or more"
        wanted = "two" if exact == 2 else exact
        return f"{self.name} takes exactly {wanted} ranks, not {self.ranks}: start it with -n {exact}"

    @property
    def lacks_soak(self) -> str:
        """Why it has no soak: it 'computes with what arrives'; '': it has one."""
        if self.checking.sums:
            return COMPUTES
        if self.kind.intra_rank:
            return "sends no messages between ranks"
        return "moves bytes without the receiver" if self.kind.one_sided else self.checking.no_soak

    @abstractmethod
    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        """Steps of `rank` in one iteration of a phase, in order."""

    def team(self, rank: int, phase: int = 0) -> Team | None:
        """The team of `rank` in a phase; None where it has nothing to do."""
        return Team("", range(self.ranks))

    def extent(self, rank: int, size: int) -> int:
        """Bytes that each of this rank's two buffers needs in any phase (here: in the first one)."""
        ends = [
            transfer.offset + transfer.bytes
            for step in self.steps(rank, size)
            for transfer in (*step.sends, *step.receives)
        ]
        return max(ends, default=0)

    @abstractmethod
    def figure(self, size: int) -> Figure:
        """Bytes and time of a figure, for one team of the reported phase."""
