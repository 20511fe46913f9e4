"""Ranks whose work is one figure: their samples come together, and rank 0 learns what it needs.

No rank holds another's samples: times go to a team's first rank sample by sample, as the slowest of its
ranks; from there only medians, intervals and one team's summary go on.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wirespeed.patterns import Pattern, Shape, Team
from wirespeed.statistics.samples import Samples

if TYPE_CHECKING:
    from wirespeed.rank.communicator import World


@dataclass(frozen=True)
class Member:
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


class Squad:
    """This rank's team in one part of a pattern, as far as samples are concerned."""

    def __init__(self, world: World, pattern: Pattern, shape: Shape, part: int) -> None:
        self._world = world
        self.team: Team | None = pattern.team(world.rank, shape, part)
        together = pattern.slowest_counts and self.team is not None and len(self.team.ranks) > 1
        self._inner = world.of_ranks(self.team.ranks) if together and self.team else None
        self.leads = self.team is not None and world.rank == self.team.ranks[0]
        """Does this rank keep the team's samples?"""

    def gathered(self, seconds: Sequence[float]) -> list[float]:
        """The team's samples, on the rank that leads it: those of its slowest rank, one by one."""
        if self._inner is None:
            return list(seconds) if self.leads else []
        slowest = self._inner.largest(array("d", seconds))
        return list(slowest) if self.leads else []

    def pace(self, samples: Samples) -> float:
        """The latest batch median of the slowest team, in seconds; on every rank."""
        return self._world.maximum(samples.latest if self.leads and samples.count else 0.0)

    def precision(self, samples: Samples) -> float | None:
        """That of the team that knows least; None if one has no interval yet. On every rank."""
        mine = 0.0
        if self.leads:
            found = samples.precision()
            mine = math.inf if found is None else found
        worst = self._world.maximum(mine)
        return None if math.isinf(worst) else worst

    def members(self, samples: Samples) -> list[Member] | None:
        """All teams' figures on rank 0, by first rank."""
        mine = None
        if self.leads and self.team:
            found = samples.summary()
            mine = Member(
                self.team.name, self._world.rank, len(self.team.ranks), found["seconds"], found["precision"]
            )
        everyone = self._world.gather(mine)
        return None if everyone is None else [member for member in everyone if member]

    def summary_of(self, samples: Samples, rank: int) -> dict[str, Any]:
        """The whole summary that the team led by `rank` has, on every rank."""
        found: dict[str, Any] = self._world.share(
            samples.summary() if self._world.rank == rank else None, root=rank
        )
        return found

    def close(self) -> None:
        if self._inner is not None:
            self._inner.free()
