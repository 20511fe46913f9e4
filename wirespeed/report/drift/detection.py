"""A machine watched: repetitions of one check, the latest held against the first ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from wirespeed.grouping import grouped
from wirespeed.judge.model import LaunchId, LaunchMedian, Side, common
from wirespeed.judge.verdict import UNSURE, excludes
from wirespeed.report.cannot_tell import CANNOT_TELL, NO_REFERENCE, NOT_MEASURED, TOO_EARLY, Reason, Unjudged
from wirespeed.report.compare.matching import Key, match
from wirespeed.report.compare.verdicts import (
    FAILING,
    GAINED,
    LOST,
    UNNAMED,
    Verdict,
    Verdicts,
    by_path,
    launches,
    unsure,
    verdicts,
)
from wirespeed.results.model import Health
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import median
from wirespeed.statistics.student import LOOK_ALARMS

FIRST = 5
"""Repetitions that show what is usual."""
LATEST = (5, 3)
"""So many of the latest repetitions are compared with the first ones: one alone may be an accident."""
HISTORY = 50
"""The first repetitions may agree by chance, and every look is held against them: how much repetitions
differ is taken from so many of those before the latest, too."""
LEAST = 0.035
"""Smaller changes are not named: noise that lasts for several repetitions makes them, too."""
SEVERAL = 50
"""Looks after which ever fewer are wrong, so that all later ones together add no more than these do. Looks
share most of their repetitions, and variances are at least those of the HISTORY, so that a steady machine is
named in fewer than 5 % of watches (bench/claims.py --only watch)."""

LATE, LATE_REPETITIONS, LATE_AMONG = 1.5, 3, 40
"""A path is late now and then that takes LATE times its median in so many of the latest repetitions."""

AS_BEFORE, NOT_SLOWER = "as before", "not slower"


@dataclass
class Drift:
    """Changes of each figure since the first repetitions."""

    first: int = FIRST
    runs: list[Run] = field(default_factory=list)
    ever: set[Key] = field(default_factory=set)
    """Figures, and paths as a whole, that were named as worse or lost at some time."""
    ever_late: dict[Key, tuple[int, float]] = field(default_factory=dict)
    """Paths that were late now and then, as `late` had them last."""
    ever_untold: dict[Key, Reason] = field(default_factory=dict)
    """Figures that as many looks in a row as LATEST has repetitions could not tell, at some time."""
    lasted: float = 0.0
    """Seconds from the first repetition to now."""
    _calm: int | None = None
    """Repetitions before the first change that was named: later ones tell nothing of noise."""
    _untold: dict[Key, int] = field(default_factory=dict)
    """So many looks in a row, up to the latest."""
    _launches: dict[int, dict[Key, Side]] = field(default_factory=dict)
    """Launches of each run, by its id."""
    _seen: dict[Key, None] = field(default_factory=dict)
    """Figures of any repetition, in the order measured."""

    def add(self, run: Run) -> Verdicts:
        """Takes a repetition; verdicts on the latest ones; none at the start."""
        self.runs.append(run)
        self._seen |= dict.fromkeys(match([], [run]).only_new)
        found = self.verdicts
        if found.harmful and self._calm is None:
            self._calm = max(self.first, len(self.runs) - max(LATEST))
        self.ever_late |= self.late
        self.ever |= {verdict.key for verdict in (*found.figures, *found.groups) if verdict.harmful}
        if len(self.runs) >= self.first + min(LATEST):
            untold = dict([*unsure(found), *self.lacking])
            self._untold = {key: self._untold.get(key, 0) + 1 for key in untold}
            lasting = (key for key, looks in self._untold.items() if looks >= max(LATEST))
            self.ever_untold = {key: untold[key] for key in lasting} | self.ever_untold
        return found

    @property
    def health(self) -> list[Health]:
        """Health around every path of every repetition."""
        return [health for run in self.runs for health in run.health.values()]

    @property
    def harmed(self) -> bool:
        """Was a figure worse or lost at some time, or were there errors, held clocks or wrong messages?"""
        ill = not all(health.good for health in self.health)
        return bool(self.ever) or bool(self.ever_late) or ill or self.wrong_messages > 0

    @property
    def late(self) -> dict[Key, tuple[int, float]]:
        """Of each path that is late now and then: in how many of the latest repetitions, by how much at most.

        The median of five repetitions does not show them.
        """
        latest = self.runs[-LATE_AMONG:]
        history = self._history(latest)
        found = {}
        for path, keys in grouped((key.series, key) for key in history).items():
            sides = [history[key] for key in keys if history[key]]
            centres = [median(math.log(seen.median) for seen in side.values()) for side in sides]
            late = [effect for effect in common(sides, centres).values() if effect > math.log(LATE)]
            if len(late) >= LATE_REPETITIONS:
                found[path] = len(late), math.exp(max(late))
        return found

    @property
    def wrong_messages(self) -> int:
        """That soaks found, in all repetitions."""
        return sum(soak.wrong.total for run in self.runs for soak in run.soaks.values())

    @property
    def verdicts(self) -> Verdicts:
        """Verdicts on the latest repetitions; none before there are any behind the first ones."""
        later = self.runs[self.first :]
        if not later:
            return Verdicts([], [])
        windows = [many for many in LATEST if len(later) >= many]
        level = LOOK_ALARMS * min(1.0, SEVERAL / len(later)) ** 2 / max(len(windows), 1)
        if not windows:  # One repetition alone may be an accident: nothing is named.
            windows, level = [1], 0.0
        end = max(self.first, len(self.runs) - max(LATEST)) if self._calm is None else self._calm
        history = self._history(self.runs[max(0, end - HISTORY) : end])
        looks = [
            verdicts(
                match(self.runs[: self.first], later[-many:]),
                least=LEAST,
                false_alarms=level,
                history=history,
                likely=False,
            )
            for many in windows
        ]
        return next((look for look in looks if look.harmful), looks[0])

    def _history(self, runs: Iterable[Run]) -> dict[Key, dict[LaunchId, LaunchMedian]]:
        history: dict[Key, dict[LaunchId, LaunchMedian]] = {}
        for run in runs:
            for key, side in self._launches_of(run).items():
                history.setdefault(key, {}).update({(id(run), name): seen for name, seen in side.items()})
        return history

    def _launches_of(self, run: Run) -> dict[Key, Side]:
        """Each repetition's only once, however many looks it is part of."""
        if id(run) not in self._launches:
            self._launches[id(run)] = launches([run])
        return self._launches[id(run)]

    @property
    def lacking(self) -> list[tuple[Key, Reason]]:
        """Figures without a verdict: that the first repetitions have not, or the latest ones have no more."""
        later = self.runs[self.first :][-min(LATEST) :]
        if not later:
            return []
        matched = match(self.runs[: self.first], later)
        there = dict.fromkeys(pair.key for pair in matched.pairs)
        there |= dict.fromkeys(left_out.key for side in matched.impossible for left_out in side)
        new = {key: NO_REFERENCE for key in match([], later).only_new if key not in there}
        known = dict(matched.lacking) | dict.fromkeys(matched.only_old, NOT_MEASURED)
        gone = {key: known.get(key) or self._gone(key, later) for key in [*known, *self._seen]}
        return [*((key, why) for key, why in gone.items() if key not in {**there, **new}), *new.items()]

    def _gone(self, key: Key, later: list[Run]) -> Reason:
        """Why the latest repetitions have no figure that others behind the first ones had."""
        failures = (failure for run in reversed(later) for failure in run.failures)
        of_key = (
            failure for failure in failures if failure.path == key.path and failure.bytes in (None, key.bytes)
        )
        failure = next(of_key, None)
        if failure is None:
            return NOT_MEASURED
        return Reason(f"it gives no figure any more ({failure.text or failure.what})", NOT_MEASURED.remedy)

    @property
    def unjudged(self) -> list[Unjudged]:
        """Figures that the latest repetitions do not tell, or that others did not for long."""
        if len(self.runs) <= self.first:
            return [Unjudged("all figures", TOO_EARLY)]
        latest = dict([*unsure(self.verdicts), *self.lacking])
        before = [(key, reason) for key, reason in self.ever_untold.items() if key not in latest]
        return [*by_path(latest.items()), *by_path(before, when=" for a while")]

    @property
    def keys(self) -> list[tuple[str, int]]:
        """(path, bytes) of every figure so far, in the order measured."""
        return list(dict.fromkeys(key for run in self.runs for key in run.entries))

    def history(self, key: tuple[str, int]) -> list[Entry | None]:
        """The figure of each repetition; None where it gave none."""
        return [run.entries.get(key) for run in self.runs]


def drifted(found: Verdicts) -> list[Verdict]:
    """Verdicts that say something, the most harmful first; a group's own where none of its figures' does."""
    figures = [figure for figure in found.figures if figure.what not in (*UNNAMED, GAINED)]
    told = {(figure.key.series, figure.key.bytes) for figure in figures}
    named = [group for group in found.groups if group.what not in UNNAMED]
    wholes = [group for group in named if not any((group.key, size) in told for size in group.sizes)]
    return [*wholes, *figures]


def word(verdict: Verdict) -> str:
    """'x 1.12', 'no figure', 'as before', 'cannot tell'."""
    if verdict.what in (LOST, FAILING):
        return "no figure" if verdict.what == LOST else "fails at times"
    if verdict.what == UNSURE:
        return CANNOT_TELL
    if verdict.what in UNNAMED or verdict.change is None:
        maybe_faster = verdict.change and not excludes(verdict.change, faster=True)
        return NOT_SLOWER if maybe_faster else AS_BEFORE
    return f"x {verdict.change.ratio:.3g}"


def unchanged(groups: Iterable[Verdict]) -> str:
    """'as before', or 'not slower' where one of these groups may be faster."""
    return next((NOT_SLOWER for group in groups if word(group) == NOT_SLOWER), AS_BEFORE)
