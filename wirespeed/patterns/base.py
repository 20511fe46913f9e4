"""What a pattern has to say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wirespeed.patterns.rules import Checking, Kind, Option, RankRule, Shown, SizeRule, Timing
from wirespeed.patterns.steps import Figure, Step, Team


@dataclass(frozen=True)
class Shape:
    """The job as a pattern sees it."""

    ranks: int
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: int | None = None
    """Limit of bytes for each of a rank's two buffers; None: no limit."""


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
    """Of one in no job, whose rules help and tables show; a rank's programs are made of in_job()."""

    def at(self: Self, shape: Shape) -> Self:
        """The pattern in this job."""
        found = copy(self)
        found.shape = shape
        return found

    def in_job(self: Self, ranks: int) -> Self:
        """Itself. Raises RuntimeError unless at() has put it into a job of so many ranks."""
        if "shape" not in vars(self) or self.ranks != ranks:
            raise RuntimeError(f"{self.name} is in no job of {ranks} ranks: use .at(Shape({ranks}))")
        return self

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
