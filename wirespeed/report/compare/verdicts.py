"""What became of each figure: worse, better, the same, lost; the most harmful first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.report.compare.matching import FigurePair, Key, Matched
from wirespeed.report.grouping import grouped
from wirespeed.results.launches import launch
from wirespeed.results.runs import Entry, Failure
from wirespeed.statistics import comparison
from wirespeed.statistics.comparison import SPREAD, Change, Launch

LOST, FAILING, WORSE, BETTER = "lost", "failing", "worse", "better"
GAINED, SAME, UNSURE = "gained", "same", "unsure"
SAYS = {
    LOST: ("no figure any more", "bold red"),
    FAILING: ("fails at times", "bold red"),
    WORSE: ("worse", "red"),
    UNSURE: ("cannot tell", "yellow"),
    SAME: ("no change seen", "dim"),
    BETTER: ("better", "green"),
    GAINED: ("a figure now", "green"),
}
"""Words and style of each verdict, the most harmful first. Failing: only some launches give a figure now."""


@dataclass(frozen=True)
class FigureVerdict:
    """What became of one figure."""

    key: Key
    what: str
    """One of SAYS."""
    change: Change | None = None
    old_s: float | None = None
    """Geometric mean of the launches' medians, in seconds."""
    new_s: float | None = None
    amount: int = 0
    """Bytes used for the bandwidth."""
    failure: Failure | None = None

    @property
    def harmful(self) -> bool:
        return self.what in (LOST, FAILING, WORSE)

    @property
    def harm(self) -> tuple[int, float, Key]:
        """A key to sort by, the most harmful first."""
        return list(SAYS).index(self.what), -(self.change.log_ratio if self.change else 0.0), self.key


def figure_verdicts(
    matched: Matched,
    spread: float = SPREAD,
    least: float = 0.0,
    *,
    alike: bool = True,
    false_alarms: float = comparison.FALSE_ALARMS,
) -> list[FigureVerdict]:
    """A verdict for each pair. `least`: changes of the time up to this share count as none.

    `alike`: both sides are the same kind of machine, so that changes which jump from size to size are noise.
    `false_alarms`: the probability that any figure is named where nothing has changed.
    """
    both = [pair for pair in matched.pairs if pair.old.entries and pair.new.entries]
    changes: dict[FigurePair, Change | None] = {}
    for curve in grouped((pair.key.series, pair) for pair in both).values():
        changes |= zip(curve, _changes(curve, spread, alike=alike), strict=True)
    known = [(pair, change) for pair, change in changes.items() if change]
    convincing = comparison.convincing([change.p for _, change in known], false_alarms)
    real = {pair for (pair, _), is_real in zip(known, convincing, strict=True) if is_real}
    found = []
    for pair in matched.pairs:
        change = changes.get(pair)
        if pair not in changes:
            what = LOST if pair.old.entries else GAINED
        elif change is None:
            what = UNSURE
        elif pair not in real or abs(change.log_ratio) <= math.log1p(least):
            what = SAME
        else:
            what = WORSE if change.log_ratio > 0 else BETTER
        found.append(_verdict(pair, what, change))
    return sorted(found, key=lambda verdict: verdict.harm)


def _verdict(pair: FigurePair, what: str, change: Change | None) -> FigureVerdict:
    old, new = pair.old, pair.new
    failure = None
    if what == GAINED:
        failure = old.failures[-1]
    elif new.failures and (what == LOST or not old.failures):
        failure = new.failures[-1]
        what = LOST if what == LOST else FAILING
    old_s, new_s = (typical(side.entries) if side.entries else None for side in (old, new))
    amount = (new.entries or old.entries)[-1].amount
    return FigureVerdict(pair.key, what, change, old_s, new_s, amount, failure)


def typical(entries: Sequence[Entry]) -> float:
    """Seconds: the geometric mean of the medians of the launches that a change is told from, else of all."""
    entries = _sure(entries) or entries
    return math.exp(math.fsum(math.log(entry.seconds) for entry in entries) / len(entries))


def _sure(entries: Sequence[Entry]) -> list[Entry]:
    """Without the launches whose ranks waited for CPUs: those say more of the scheduler than of the path."""
    return [entry for entry in entries if not entry.contended]


def _launches(entries: Sequence[Entry]) -> list[Launch]:
    return [*map(launch, _sure(entries))]


def _changes(curve: Sequence[FigurePair], spread: float, *, alike: bool) -> list[Change | None]:
    """Changes of one path at all sizes: how its figures scatter shows how far each can be trusted."""
    sides = [(_launches(pair.old.entries), _launches(pair.new.entries)) for pair in curve]
    spread *= comparison.unrest(sides, spread)
    changes = [comparison.change(old, new, spread) for old, new in sides]
    factor = comparison.roughness([change for change in changes if change]) if alike else 1.0
    return [change.rougher(factor) if change else None for change in changes]
