"""Teams: ranks whose work is one figure.

A team's first rank gets the time of its slowest rank, sample by sample. From there only medians, intervals
and one team's summary go to rank 0.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from wirespeed.job.records import TeamFigure, interval
from wirespeed.patterns import Pattern, Team
from wirespeed.rank.world import World
from wirespeed.statistics.samples import COARSE, Samples, Summary
from wirespeed.statistics.two_speeds import changed, two_speeds


def reduced_teams(pattern: Pattern, rank: int) -> list[Sequence[int]]:
    """Ranks of each phase's team of which `rank` is, whose slowest rank's time counts; empty: of none."""
    return [_reduced(pattern, pattern.team(rank, phase)) for phase in range(pattern.timing.phases)]


def _reduced(pattern: Pattern, team: Team | None) -> Sequence[int]:
    return team.ranks if pattern.timing.slowest and team and len(team.ranks) > 1 else ()


class TeamSamples:
    """The samples of this rank's team in one phase of a pattern. All methods are collective."""

    def __init__(self, comm: World, pattern: Pattern, phase: int) -> None:
        self._comm = comm
        self.team: Team | None = pattern.team(comm.rank, phase)
        self._inner = comm.of_ranks(_reduced(pattern, self.team)) if pattern.timing.slowest else None
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

    def figures(self, samples: Samples, waited: float | None) -> list[TeamFigure]:
        """All teams' figures on rank 0, by first rank, as a record has them; none on others.

        `waited`: this rank's share of the timed seconds without a CPU.
        """
        first, mine = self.team.ranks[0] if self.team else -1, None
        if self.team and self.leads:
            seconds, ranks = interval(samples.summary()["seconds"]), len(self.team.ranks)
            mine = TeamFigure(name=self.team.name, first=first, ranks=ranks, seconds=seconds, waited=None)
        every = self._comm.gather((first, waited, mine)) or []
        most: dict[int, float] = {}
        for of, share, _ in every:
            if share is not None:
                most[of] = max(share, most.get(of, 0.0))
        return [TeamFigure(**{**team, "waited": most.get(of)}) for of, _, team in every if team]

    def summary_of(self, samples: Samples, rank: int) -> Summary:
        """The whole summary that the team led by `rank` has, on every rank."""
        mine = samples.summary() if self._comm.rank == rank else None
        if mine and mine["precision"] is not None and mine["precision"] > COARSE:
            mine["seconds"]["speeds"] = two_speeds(samples.medians)
        if mine:
            mine["seconds"]["changed"] = changed(samples.medians)
        found = self._comm.share(mine, root=rank)
        assert found
        return found

    def close(self) -> None:
        if self._inner is not None:
            self._inner.free()
