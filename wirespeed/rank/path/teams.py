"""Teams: ranks whose work is one figure.

A team's first rank gets the time of its slowest rank, sample by sample. From there only medians, intervals
and one team's summary go to rank 0.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

from wirespeed.patterns import Pattern, Shape, Team
from wirespeed.rank.world import World
from wirespeed.statistics.samples import COARSE, Samples
from wirespeed.statistics.two_speeds import two_speeds


def reduced_teams(pattern: Pattern, shape: Shape, rank: int) -> list[Sequence[int]]:
    """Ranks of each phase's team of which `rank` is, whose slowest rank's time counts; empty: of none."""
    return [_reduced(pattern, pattern.team(rank, shape, phase)) for phase in range(pattern.phases(shape))]


def _reduced(pattern: Pattern, team: Team | None) -> Sequence[int]:
    return team.ranks if pattern.slowest_counts and team and len(team.ranks) > 1 else ()


class TeamSamples:
    """The samples of this rank's team in one phase of a pattern. All methods are collective."""

    def __init__(self, comm: World, pattern: Pattern, shape: Shape, phase: int) -> None:
        self._comm = comm
        self.team: Team | None = pattern.team(comm.rank, shape, phase)
        self._inner = comm.of_ranks(_reduced(pattern, self.team)) if pattern.slowest_counts else None
        self.leads = self.team is not None and comm.rank == self.team.ranks[0]
        """This rank keeps the team's samples."""

    def gathered(self, seconds: Sequence[float]) -> list[float]:
        """The team's samples, on the rank that leads it: those of its slowest rank, one by one."""
        slowest = seconds if self._inner is None else self._inner.largest(array("d", seconds))
        return list(slowest) if self.leads else []

    def slowest_latest(self, samples: Samples) -> float:
        """The latest batch median of the slowest team, in seconds; on every rank."""
        return self._comm.maximum(samples.latest if self.leads and samples.count else 0.0)

    def widest(self, samples: Samples) -> float | None:
        """Relative half-width of the widest team interval, on every rank; None if a team has none yet."""
        mine = samples.precision() if self.leads else 0.0
        widest = self._comm.maximum(math.inf if mine is None else mine)
        return None if math.isinf(widest) else widest

    def figures(self, samples: Samples, waited: float | None) -> list[dict[str, Any]]:
        """All teams' figures on rank 0, by first rank, as a record has them; none on others.

        `waited`: this rank's share of the timed seconds without a CPU.
        """
        mine: dict[str, Any] | None = None
        if self.team:
            mine = {"first": self.team.ranks[0], "waited": waited}
        if mine and self.team and self.leads:
            times = samples.summary()["seconds"]
            mine |= {"name": self.team.name, "ranks": len(self.team.ranks)}
            mine["seconds"] = {name: times[name] for name in ("median", "low", "high", "min")}
        every = [item for item in self._comm.gather(mine) or () if item]
        most: dict[int, float] = {}
        for item in every:
            if item["waited"] is not None:
                most[item["first"]] = max(item["waited"], most.get(item["first"], 0.0))
        return [{**item, "waited": most.get(item["first"])} for item in every if "name" in item]

    def summary_of(self, samples: Samples, rank: int) -> dict[str, Any]:
        """The whole summary that the team led by `rank` has, on every rank."""
        mine: dict[str, Any] = {}
        if self._comm.rank == rank:
            mine = samples.summary()
            if mine["precision"] is not None and mine["precision"] > COARSE:
                mine["seconds"]["speeds"] = two_speeds(samples.medians)
        found: dict[str, Any] = self._comm.share(mine, root=rank)
        return found

    def close(self) -> None:
        if self._inner is not None:
            self._inner.free()
