"""Teams: ranks whose work is one figure.

A team's first rank gets the time of its slowest rank, sample by sample. From there only medians, intervals
and one team's summary go to rank 0.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.patterns import Pattern, Shape, Team
from wirespeed.rank.communicator import Communicator
from wirespeed.statistics.samples import Samples


@dataclass(frozen=True)
class TeamFigure:
    """One team's figure."""

    name: str
    first: int
    """Its first rank."""
    ranks: int
    seconds: dict[str, Any]
    precision: float | None

    @property
    def time(self) -> float:
        return float(self.seconds["median"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "first": self.first,
            "ranks": self.ranks,
            "seconds": {name: self.seconds[name] for name in ("median", "low", "high", "min")},
        }


class TeamSamples:
    """The samples of this rank's team in one phase of a pattern. All methods are collective."""

    def __init__(self, comm: Communicator, pattern: Pattern, shape: Shape, phase: int) -> None:
        self._comm = comm
        self.team: Team | None = pattern.team(comm.rank, shape, phase)
        reduced = pattern.slowest_counts and self.team is not None and len(self.team.ranks) > 1
        self._inner = comm.of_ranks(self.team.ranks) if reduced and self.team else None
        self.leads = self.team is not None and comm.rank == self.team.ranks[0]
        """This rank keeps the team's samples."""

    def gathered(self, seconds: Sequence[float]) -> list[float]:
        """The team's samples, on the rank that leads it: those of its slowest rank, one by one."""
        if self._inner is None:
            return list(seconds) if self.leads else []
        slowest = self._inner.largest(array("d", seconds))
        return list(slowest) if self.leads else []

    def slowest_latest(self, samples: Samples) -> float:
        """The latest batch median of the slowest team, in seconds; on every rank."""
        return self._comm.maximum(samples.latest if self.leads and samples.count else 0.0)

    def widest(self, samples: Samples) -> float | None:
        """Relative half-width of the widest team interval; None if a team has none yet. On every rank."""
        mine = 0.0
        if self.leads:
            found = samples.precision()
            mine = math.inf if found is None else found
        widest = self._comm.maximum(mine)
        return None if math.isinf(widest) else widest

    def figures(self, samples: Samples) -> list[TeamFigure] | None:
        """All teams' figures on rank 0, by first rank."""
        mine = None
        if self.leads and self.team:
            found = samples.summary()
            mine = TeamFigure(
                self.team.name, self._comm.rank, len(self.team.ranks), found["seconds"], found["precision"]
            )
        everyone = self._comm.gather(mine)
        return None if everyone is None else [figure for figure in everyone if figure]

    def summary_of(self, samples: Samples, rank: int) -> dict[str, Any]:
        """The whole summary that the team led by `rank` has, on every rank."""
        found: dict[str, Any] = self._comm.share(
            samples.summary() if self._comm.rank == rank else None, root=rank
        )
        return found

    def close(self) -> None:
        if self._inner is not None:
            self._inner.free()
