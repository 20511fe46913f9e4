"""What became of each figure: worse, better, the same, lost; the worst first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.report.compare.matching import Figures, Key, Matched, Pair
from wirespeed.results.runs import Entry, Failure
from wirespeed.statistics import comparison
from wirespeed.statistics.comparison import SPREAD, Change, Launch

LOST, FAILING, WORSE, BETTER = "lost", "failing", "worse", "better"
GAINED, SAME, UNSURE = "gained", "same", "unsure"
HARM = (LOST, FAILING, WORSE, UNSURE, SAME, BETTER, GAINED)
"""The most harmful first. Lost: no figure any more; failing: none in some launches, where all gave one."""


@dataclass(frozen=True)
class Verdict:
    """One key's."""

    key: Key
    what: str
    change: Change | None = None
    old_s: float | None = None
    """Seconds: the launches' medians, their geometric mean."""
    new_s: float | None = None
    amount: int = 0
    """Bytes whose rate is meant."""
    failure: Failure | None = None

    @property
    def harmful(self) -> bool:
        return self.what in (LOST, FAILING, WORSE)

    @property
    def harm(self) -> tuple[int, float, Key]:
        """To sort by, the most harmful first."""
        return HARM.index(self.what), -(self.change.log_ratio if self.change else 0.0), self.key


def launch(entry: Entry) -> Launch:
    """The figure of one launch."""
    if entry.precision is None:
        return Launch(entry.seconds, None, None)
    return Launch(entry.seconds, entry.low, entry.high)


def judge(
    matched: Matched,
    spread: float = SPREAD,
    least: float = 0.0,
    *,
    alike: bool = True,
    false_alarms: float = comparison.FALSE_ALARMS,
) -> list[Verdict]:
    """A verdict for each pair. `least`: changes of the time up to this share count as none.

    `alike`: a jagged change from size to size is noise, rather than the nature of two different machines.
    `false_alarms`: how often anything at all may be named where nothing has changed.
    """
    curves: dict[Key, list[Pair]] = {}
    for pair in matched.pairs:
        if pair.old.entries and pair.new.entries:
            curves.setdefault(pair.key.series, []).append(pair)
    compared = [pair for curve in curves.values() for pair in curve]
    changes = [change for curve in curves.values() for change in _changes(curve, spread, alike=alike)]
    known = [change for change in changes if change]
    real = iter(comparison.convincing([change.p for change in known], false_alarms))
    found = [
        _verdict(pair.key, pair.old, pair.new, change, bool(change and next(real)), least)
        for pair, change in zip(compared, changes, strict=True)
    ]
    for pair in matched.pairs:
        if not (pair.old.entries and pair.new.entries):
            found.append(_one_sided(pair))
    return sorted(found, key=lambda verdict: verdict.harm)


def _one_sided(pair: Pair) -> Verdict:
    """Of a figure that one side has, where the other failed."""
    old, new = pair.old, pair.new
    if old.entries:
        amount = old.entries[-1].amount
        return Verdict(pair.key, LOST, old_s=typical(old.entries), amount=amount, failure=new.failures[-1])
    amount = new.entries[-1].amount
    return Verdict(pair.key, GAINED, new_s=typical(new.entries), amount=amount, failure=old.failures[-1])


def _verdict(
    key: Key, old: Figures, new: Figures, change: Change | None, real: bool, least: float
) -> Verdict:
    if change is None:
        what = UNSURE
    elif not real or abs(change.log_ratio) <= math.log1p(least):
        what = SAME
    else:
        what = WORSE if change.log_ratio > 0 else BETTER
    failure = new.failures[-1] if new.failures and not old.failures else None
    amount = new.entries[-1].amount
    return Verdict(
        key, FAILING if failure else what, change, typical(old.entries), typical(new.entries), amount, failure
    )


def typical(entries: Sequence[Entry]) -> float:
    """Seconds: the geometric mean of the launches' medians."""
    return math.exp(math.fsum(math.log(entry.seconds) for entry in entries) / len(entries))


def _changes(curve: Sequence[Pair], spread: float, *, alike: bool) -> list[Change | None]:
    """Those of one path, at all sizes: what its figures have in common says how far to trust each."""
    sides = [([*map(launch, pair.old.entries)], [*map(launch, pair.new.entries)]) for pair in curve]
    spread *= comparison.unrest(sides, spread)
    changes = [comparison.change(old, new, spread) for old, new in sides]
    factor = comparison.roughness([change for change in changes if change]) if alike else 1.0
    return [change.rougher(factor) if change else None for change in changes]
