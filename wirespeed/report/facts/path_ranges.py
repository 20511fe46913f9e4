"""Ranges of the ranks as rank 0 told them, by job step: what they were about, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

from wirespeed.job.messages import RankRanges
from wirespeed.results.events import StepEnd, StepStart
from wirespeed.results.model import Event


@dataclass
class StepRanges:
    """A path's ranges, on the front end's clock, in nanoseconds."""

    path: str
    launch: int
    begin: int
    end: int
    ranks: list[RankRanges] = field(default_factory=list)
    """As rank/path/path_run.py tells them; none of a path that ended before it could."""

    @property
    def first(self) -> int:
        """When it began; inside a launcher, ranks start before their first job step."""
        begins = [row[2] + told.shift for told in self.ranks for row in told.rows]
        return min(self.begin, *map(int, begins)) if begins else self.begin


class RangeLog:
    """Takes the events of one run, or of several."""

    def __init__(self) -> None:
        self.steps: list[StepRanges] = []

    def take(self, event: Event) -> bool:
        """Returns whether the event was one for nobody else."""
        if isinstance(event, StepStart):
            self.steps.append(StepRanges(event.path, event.launch, event.at, event.at))
        elif isinstance(event, StepEnd) and self.steps:
            self.steps[-1].end = event.at
        elif isinstance(event, RankRanges) and self.steps:
            self.steps[-1].ranks.append(event)
        return isinstance(event, (StepEnd, RankRanges))
