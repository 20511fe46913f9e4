"""Verdict on each figure: worse, better, the same, lost; the most harmful first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirespeed.report.cannot_tell import (
    CANNOT_TELL,
    FEW_LAUNCHES,
    NO_INTERVAL,
    ONE_LAUNCH,
    UNCERTAIN,
    WAITED,
    Reason,
    Unjudged,
)
from wirespeed.report.compare.matching import FigurePair, Key, Matched, entries
from wirespeed.report.grouping import grouped, size_range, size_ranges
from wirespeed.results.launches import launch
from wirespeed.results.runs import Entry, Failure, Run
from wirespeed.statistics import comparison
from wirespeed.statistics.comparison import Change, LaunchId, LaunchMedian, Side

LOST, FAILING, WORSE, BETTER = "lost", "failing", "worse", "better"
GAINED, SAME, NOT_WORSE, UNSURE = "gained", "same", "not_worse", "unsure"
SAYS = {
    LOST: ("no figure any more", "bold red"),
    FAILING: ("fails at times", "bold red"),
    WORSE: ("worse", "red"),
    UNSURE: (CANNOT_TELL, "yellow"),
    SAME: ("no change seen", "dim"),
    NOT_WORSE: ("not worse", "dim"),
    BETTER: ("better", "green"),
    GAINED: ("a figure now", "green"),
}
"""Words and style of each verdict, the most harmful first. Failing: only some launches give a figure now."""
UNNAMED = (UNSURE, SAME, NOT_WORSE)
"""Verdicts that name no change. Not worse: a slowdown by TO_BE_FOUND is excluded, a speedup is not."""
TO_BE_FOUND = 0.05
"""Nothing is said of a path or a size that may be slower by so much: such a slowdown would not always be
found, and the interval does not exclude it."""


@dataclass(frozen=True)
class FigureVerdict:
    """Verdict on one figure."""

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
    reason: Reason | None = None
    """Why it cannot be told; none where the path can, and only this size alone cannot."""
    left_out: tuple[Reason, ...] = ()
    """Reasons for which some launches do not count, each once."""

    @property
    def harmful(self) -> bool:
        return self.what in (LOST, FAILING, WORSE)

    @property
    def alone(self) -> bool:
        """Only this size cannot be told: its path's verdict stands."""
        return self.what == UNSURE and self.reason is None

    @property
    def style(self) -> str:
        return "dim" if self.alone else SAYS[self.what][1]

    @property
    def harm(self) -> tuple[int, float, Key]:
        """A key to sort by, the most harmful first; what is as harmful to a millionth, by its size."""
        return list(SAYS).index(self.what), -round(self.change.log_ratio if self.change else 0.0, 6), self.key


@dataclass(frozen=True)
class PathVerdict:
    """Verdict on a path as a whole."""

    key: Key
    """Without a size."""
    what: str
    """WORSE, BETTER or one of UNNAMED, of what is common to all its sizes."""
    change: Change | None
    """The median change over its sizes."""
    smallest: float | None
    """The slowdown of the whole path that is found in nine cases of ten, as a share of the time."""
    smallest_of_a_size: float | None
    """The same of a slowdown at one size alone."""
    reason: Reason | None = None
    """Why it cannot be told."""


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on all figures, and on all paths."""

    figures: list[FigureVerdict]
    """The most harmful first."""
    paths: list[PathVerdict]
    """In the order of their names."""

    @property
    def harmful(self) -> bool:
        worse = any(path.what == WORSE for path in self.paths)
        return worse or any(figure.harmful for figure in self.figures)


def unjudged(found: Verdicts) -> list[Unjudged]:
    """Figures and paths that cannot be told, by path and reason."""
    return by_path(unsure(found))


def unsure(found: Verdicts) -> list[tuple[Key, Reason]]:
    """Figures that cannot be told, and why; none of a path whose own verdict stands."""
    return [
        (figure.key, figure.reason) for figure in found.figures if figure.what == UNSURE and figure.reason
    ]


def launches_left_out(found: Verdicts) -> list[Unjudged]:
    """Figures that are told from some of their launches only, by path and reason."""
    some = [figure for figure in sorted(found.figures, key=lambda figure: figure.key) if figure.change]
    sizes = grouped((figure.key.series, figure.key.bytes) for figure in some)
    alike = grouped(
        ((figure.key.series, reason), figure.key.bytes) for figure in some for reason in figure.left_out
    )
    return [
        Unjudged(f"{key.title} at {size_ranges(these, sizes[key])}", reason)
        for (key, reason), these in alike.items()
    ]


def by_path(figures: Iterable[tuple[Key, Reason]], when: str = "") -> list[Unjudged]:
    """Lists what is not judged, by path and reason; `when`: words behind the sizes."""
    alike = grouped(((key.series, reason), key.bytes) for key, reason in figures)
    return [
        Unjudged(f"{key.title} at {size_range(sizes)}{when}", reason)
        for (key, reason), sizes in alike.items()
    ]


def verdicts(
    matched: Matched,
    spread: float | None = None,
    least: float = 0.0,
    false_alarms: float = comparison.FALSE_ALARMS,
    history: Mapping[Key, Side] | None = None,
) -> Verdicts:
    """A verdict for each pair, and for each path.

    `spread`: what launches differ by, if it is known. `least`: changes of the time up to this share count as
    none. `false_alarms`: the probability that any figure or path is named where nothing has changed.
    `history`: launches() of more runs than those compared, if there are any.
    """
    both = [pair for pair in matched.pairs if pair.old.entries and pair.new.entries]
    curves = grouped((pair.key.series, pair) for pair in both)
    told = {
        key: comparison.path_change(
            [(_side(pair.old.entries), _side(pair.new.entries)) for pair in curve],
            spread,
            [history.get(pair.key, {}) for pair in curve] if history else (),
        )
        for key, curve in curves.items()
    }
    judged = [key for key, change in told.items() if change.whole]
    level = false_alarms / max(len(judged), 1)
    named = comparison.convincing([told[key].p for key in judged], false_alarms)
    chosen = {key for key, is_real in zip(judged, named, strict=True) if is_real}
    # Inside the paths that are named, the share of false ones stays as it is (Benjamini and Bogomolov 2014).
    within = false_alarms * len(chosen) / max(len(judged), 1)
    paths, found = [], {}
    for key, curve in curves.items():
        path = _path_verdict(key, curve, told[key], key in chosen, within, least, level)
        paths.append(path)
        known = [change.p for change in told[key].figures if change]
        real = iter(comparison.convincing(known, within) if key in chosen else [False] * len(known))
        for pair, change in zip(curve, told[key].figures, strict=True):
            is_real = change is not None and next(real) and abs(change.log_ratio) > math.log1p(least)
            what, reason = _what(change, is_real, told[key].size_level(level), least), None
            if what in UNNAMED and path.what == UNSURE:
                what = UNSURE
            if what == UNSURE:
                reason = path.reason if change else _why_not(pair)
            found[pair] = _verdict(pair, what, change, reason)
    for pair in matched.pairs:
        if pair not in found:
            found[pair] = _verdict(pair, LOST if pair.old.entries else GAINED, None, None)
    return Verdicts(
        sorted(found.values(), key=lambda verdict: verdict.harm), sorted(paths, key=lambda path: path.key)
    )


def launches(runs: Sequence[Run]) -> dict[Key, Side]:
    """Launches of each figure that verdicts are told from, in the order of the runs."""
    return {key: _side(found) for key, found in entries(runs).items()}


def _what(change: Change | None, is_real: bool, level: float, least: float) -> str:
    """One rule for a path and for a size; `level`: the one at which it is named."""
    if change is None:
        return UNSURE
    if is_real:
        return WORSE if change.log_ratio > 0 else BETTER
    asked = 1 + max(TO_BE_FOUND, least)
    low, high = change.interval()
    if (1 / asked <= low and high <= asked) or change.smallest(level) <= asked - 1:
        return SAME
    return UNSURE if high > asked else NOT_WORSE


def _path_verdict(
    key: Key,
    curve: Sequence[FigurePair],
    told: comparison.PathChange,
    chosen: bool,
    within: float,
    least: float,
    level: float,
) -> PathVerdict:
    """`within`: the level for a path that is named; `level`: for one path alone."""
    whole = told.whole
    if whole is None:
        return PathVerdict(key, UNSURE, None, None, None, _why_not(curve[0]))
    smallest, of_a_size = told.smallest(level, least), told.smallest_of_a_size(level, least)
    is_real = chosen and whole.p <= within and abs(whole.log_ratio) > math.log1p(least)
    what, reason = _what(whole, is_real, told.whole_level(level), least), None
    if what == UNSURE:
        reason = ONE_LAUNCH if whole.launches == (1, 1) else FEW_LAUNCHES
    return PathVerdict(key, what, whole, smallest, of_a_size, reason)


def _why_not(pair: FigurePair) -> Reason:
    sides = pair.old.entries, pair.new.entries
    if all(map(_sure, sides)):
        return NO_INTERVAL
    doubts = [_doubt(entry) for side in sides for entry in side if not entry.sure]
    return WAITED if WAITED in doubts else UNCERTAIN


def _doubt(entry: Entry) -> Reason:
    return WAITED if entry.contended else UNCERTAIN


def _verdict(pair: FigurePair, what: str, change: Change | None, reason: Reason | None) -> FigureVerdict:
    old, new = pair.old, pair.new
    failure = None
    if what == GAINED:
        failure = old.failures[-1]
    elif new.failures and (what == LOST or not old.failures):
        failure = new.failures[-1]
        what = LOST if what == LOST else FAILING
    old_s, new_s = (typical(side.entries) if side.entries else None for side in (old, new))
    amount = (new.entries or old.entries)[-1].amount
    left_out = dict.fromkeys(_doubt(entry) for side in (old, new) for entry in side.entries if not entry.sure)
    return FigureVerdict(pair.key, what, change, old_s, new_s, amount, failure, reason, tuple(left_out))


def typical(entries: Sequence[Entry]) -> float:
    """Seconds: the geometric mean of the medians of the launches that a change is told from, else of all."""
    entries = _sure(entries) or entries
    return math.exp(math.fsum(math.log(entry.seconds) for entry in entries) / len(entries))


def _sure(entries: Sequence[Entry]) -> list[Entry]:
    """Without the launches whose ranks waited for CPUs, or whose interval says nothing (over ±100 %)."""
    return [entry for entry in entries if entry.sure]


def _side(found: Sequence[Entry]) -> Side:
    """By run and launch: figures of one launch share what slowed it."""
    side: dict[LaunchId, LaunchMedian] = {}
    copies = Counter[tuple[str, int]]()
    for entry in _sure(found):
        name = entry.run, entry.launch
        side[entry.run, entry.launch, copies[name]] = launch(entry)
        copies[name] += 1
    return side
