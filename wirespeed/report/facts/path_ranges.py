"""What the ranks were about, and when: their ranges as rank 0 told them, by job step."""

from __future__ import annotations

from dataclasses import dataclass, field

from wirespeed.job.messages import Message


@dataclass
class StepRanges:
    """A path's ranges, on the front end's clock, in nanoseconds."""

    path: str
    launch: int
    begin: int
    end: int
    ranks: list[Message] = field(default_factory=list)
    """As rank/path/path_run.py tells them; none of a path that ended before it could."""

    @property
    def first(self) -> int:
        """When it began; inside a launcher, ranks start before their first job step."""
        begins = [row[2] + message["shift"] for message in self.ranks for row in message["rows"]]
        return min(self.begin, *map(int, begins)) if begins else self.begin


class RangeLog:
    """Takes the events of one run, or of several."""

    def __init__(self) -> None:
        self.steps: list[StepRanges] = []

    def take(self, event: Message) -> bool:
        """Returns whether the event was one for nobody else."""
        if event["kind"] == "step-start":
            self.steps.append(StepRanges(event["path"], event["launch"], event["at"], event["at"]))
        elif event["kind"] == "step-end" and self.steps:
            self.steps[-1].end = event["at"]
        elif event["kind"] == "ranges" and self.steps:
            self.steps[-1].ranks.append(event)
        return event["kind"] in ("step-end", "ranges")
