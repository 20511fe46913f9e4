"""What a pattern is made of, and what one has to say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Transfer:
    """`bytes` to or from `peer`, at `offset` in this rank's send or receive buffer.

    `there`: where they lie at the peer: in its receive buffer for what is sent, in its send buffer for what
    is received.
    """

    peer: int
    bytes: int
    offset: int = 0
    there: int = 0


@dataclass(frozen=True)
class Add:
    """The device adds `value` to each of the doubles in `bytes` bytes at `offset` of the receive buffer."""

    bytes: int
    offset: int
    value: float


@dataclass(frozen=True)
class Step:
    """Transfers under way at once; when all are done the device adds, then the next step starts."""

    sends: tuple[Transfer, ...] = ()
    receives: tuple[Transfer, ...] = ()
    adds: tuple[Add, ...] = ()


@dataclass(frozen=True)
class Sums:
    """Doubles that a round changes: they begin as `before`, `before` + 1, ... + 1023, `before`, ...

    After one round those at `offset` begin with `after`.
    """

    bytes: int
    before: float
    after: float
    offset: int = 0


@dataclass(frozen=True)
class Derived:
    """Another figure of the same samples: `amount` / seconds, in GB/s or messages/s; with unit s, the
    seconds times `amount`."""

    name: str
    amount: float
    unit: str = "GB/s"


@dataclass(frozen=True)
class Figure:
    """What a sample means: seconds = sample / divisor, for `bytes` bytes.

    `definition` begins with what the seconds are called, then a colon: "one way: half of a round trip".
    """

    divisor: float
    bytes: int
    definition: str
    derived: tuple[Derived, ...] = ()


@dataclass(frozen=True)
class Team:
    """Ranks whose work is one figure of its own; a pattern's teams have no rank in common."""

    name: str
    ranks: Sequence[int]


@dataclass(frozen=True)
class Option:
    """A pattern's own option on the command line: with a whole number, a choice, or nothing (a flag)."""

    name: str
    help: str
    default: int | str | bool | None
    least: int = 1
    most: int = 10_000_000
    choices: tuple[str, ...] = ()
    metavar: str = "N"
    many: bool = False
    """Does it take a list, each of which is measured?"""
    for_transport: bool = False
    """Is it the transport that heeds it, not the pattern?"""
    each_node: bool = False
    """Not given: measured once more for each NUMA node, where there are several."""

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class Shape:
    """The world as a pattern sees it."""

    ranks: int
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: int | None = None
    """Bytes that each of a rank's two buffers may have; None: as many as are asked for."""


class Pattern(ABC):
    """One way of moving data between ranks: pure functions of one rank's view.

    A subclass names itself, and gives `steps` and `figure`; all else has an answer that suits two ranks.
    """

    name: str
    summary: str
    """One line, for the list of commands."""
    help: str = ""
    """What stands below it in --help: what is measured, and examples."""
    options: tuple[Option, ...] = ()
    ranks: int | None = 2
    """It takes so many ranks; None: --ranks says, else there is one for each processor."""
    sizes: str | None = None
    """Sizes measured when none are given; None: those of every command."""
    together = False
    """Does every sample begin with a barrier of all ranks?"""
    slowest_counts = False
    """Is a team's time that of its slowest rank? Else that of its first one."""
    in_place = False
    """Is one buffer both sent from and received into, always?"""
    within = False
    """Do ranks move bytes inside themselves only? Else between each other."""
    one_buffer = False
    """With --loops, is one buffer both sent from and received into, as in the ping-pong tutorial?"""
    followed_by: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(pattern, paths) measured after it, into the same file."""
    published = False
    """Are published curves, and the ping-pong tutorial's lines, figures of this pattern?"""
    by_host = False
    """Does it take it that ranks are placed host by host? A report says so where they are not."""
    view = "sizes"
    """How a report shows it: a row a size ("sizes"), a "matrix" of pairs, or "copies" alone and together."""

    def refuse(self, shape: Shape) -> str | None:
        """Why this world cannot run the pattern, in one line; None if it can."""
        if self.ranks is None or shape.ranks == self.ranks:
            return None
        return (
            f"{self.name} takes exactly {'two' if self.ranks == 2 else self.ranks} ranks, not {shape.ranks}: "
            f"start it with -n {self.ranks}"
        )

    def wanted_ranks(self, shape: Shape) -> int | None:
        """Ranks to start when nobody says how many; None: one for each processor."""
        return self.ranks

    def fixed_sizes(self, shape: Shape) -> tuple[int, ...] | None:
        """The sizes, where the pattern itself knows them."""
        return None

    def parts(self, shape: Shape) -> int:
        """So many rounds of different transfers are measured one after the other."""
        return 1

    @abstractmethod
    def steps(self, rank: int, shape: Shape, size: int, part: int = 0) -> list[Step]:
        """What `rank` does in one round, in order."""

    def team(self, rank: int, shape: Shape, part: int = 0) -> Team | None:
        """The team of `rank`; None where it has nothing to do."""
        return Team("", range(shape.ranks))

    def sums(self, rank: int, shape: Shape, size: int) -> Sums | None:
        """What a round must make of the numbers it adds to; None: it moves bytes as they are."""
        return None

    def headline(self, shape: Shape) -> int | None:
        """The part whose slowest team is the figure; None: the slowest team of all parts."""
        return None

    def extent(self, rank: int, shape: Shape, size: int) -> int:
        """Bytes that each of this rank's two buffers needs, in every part; those of the first one here."""
        ends = [
            transfer.offset + transfer.bytes
            for step in self.steps(rank, shape, size)
            for transfer in (*step.sends, *step.receives)
        ]
        return max(ends, default=0)

    @abstractmethod
    def figure(self, shape: Shape, size: int) -> Figure:
        """Which bytes over which time, for one team."""
