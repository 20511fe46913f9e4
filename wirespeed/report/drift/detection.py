"""A machine watched: repetitions of one check, the latest held against the first ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from wirespeed.report.compare.matching import Key, match
from wirespeed.report.compare.verdicts import (
    FAILING,
    GAINED,
    LOST,
    SAME,
    UNSURE,
    FigureVerdict,
    figure_verdicts,
)
from wirespeed.results.model import Health
from wirespeed.results.runs import Entry, Run

FIRST = 5
"""Repetitions that show what is usual."""
LATEST = 3
"""Repetitions that are compared with the first ones together: one alone may be an accident."""
FALSE_ALARMS = 0.01
"""Of one look at all figures; there are many looks."""


@dataclass
class Drift:
    """What became of each figure since the first repetitions."""

    first: int = FIRST
    runs: list[Run] = field(default_factory=list)
    ever: set[Key] = field(default_factory=set)
    """Figures that were named as worse or lost at some time."""
    lasted: float = 0.0
    """Seconds from the first repetition to now."""

    def add(self, run: Run) -> list[FigureVerdict]:
        """Takes a repetition; verdicts on the latest ones, the most harmful first; none at the start."""
        self.runs.append(run)
        found = self.verdicts
        self.ever |= {one.key for one in found if one.harmful}
        return found

    @property
    def health(self) -> list[Health]:
        """What was read around every path of every repetition."""
        return [one for run in self.runs for one in run.health.values()]

    @property
    def harmed(self) -> bool:
        """Was a figure worse or lost at some time, or were there new errors or throttled clocks?"""
        return bool(self.ever) or not all(one.good for one in self.health)

    @property
    def verdicts(self) -> list[FigureVerdict]:
        """Of the latest repetitions; none before there are any behind the first ones."""
        latest = self.runs[self.first :][-LATEST:]
        if not latest:
            return []
        return figure_verdicts(match(self.runs[: self.first], latest), false_alarms=FALSE_ALARMS)

    @property
    def keys(self) -> list[tuple[str, int]]:
        """(path, bytes) of every figure so far, in the order measured."""
        return list(dict.fromkeys(key for run in self.runs for key in run.entries))

    def history(self, key: tuple[str, int]) -> list[Entry | None]:
        """The figure of each repetition; None where it gave none."""
        return [run.entries.get(key) for run in self.runs]


def drifted(verdicts: list[FigureVerdict]) -> list[FigureVerdict]:
    """Those that say something, the most harmful first."""
    return [one for one in verdicts if one.what not in (SAME, UNSURE, GAINED)]


def word(verdict: FigureVerdict) -> str:
    """'x 1.12', 'no figure', 'as before'."""
    if verdict.what in (LOST, FAILING):
        return "no figure" if verdict.what == LOST else "fails at times"
    if verdict.what == SAME or verdict.change is None:
        return "as before"
    return f"x {verdict.change.ratio:.3g}"
