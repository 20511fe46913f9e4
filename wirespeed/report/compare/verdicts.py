"""Verdict on each path in each group of sizes, and on each size; the most harmful first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirespeed.grouping import grouped, size_range, size_ranges
from wirespeed.judge.model import Change, GroupChange, OddLaunch, Side, group_change
from wirespeed.judge.spreads import Spread, groups, stated
from wirespeed.judge.verdict import (
    BETTER,
    HARMFUL,
    LIKELY_BETTER,
    LIKELY_WORSE,
    NOT_WORSE,
    UNSURE,
    WORSE,
    doubtful,
    excludes,
    verdict,
)
from wirespeed.paths import mover_of
from wirespeed.report.cannot_tell import (
    FEW_LAUNCHES,
    NO_INTERVAL,
    ONE_LAUNCH,
    UNCERTAIN,
    WAITED,
    Reason,
    Unjudged,
)
from wirespeed.report.compare.matching import FigurePair, Key, Matched, entries
from wirespeed.results.launches import by_launch, launch
from wirespeed.results.runs import Entry, Failure, Run
from wirespeed.statistics.samples import median
from wirespeed.statistics.student import COMPARED_ALARMS, convincing

LOST, FAILING, GAINED = "lost", "failing", "gained"
SAYS = {
    LOST: ("no figure any more", "bold red"),
    FAILING: ("fails at times", "bold red"),
    WORSE: ("changed: slower", "red"),
    LIKELY_WORSE: ("likely real: slower", "red"),
    UNSURE: ("too noisy to tell", "yellow"),
    NOT_WORSE: ("within what launches differ by", "dim"),
    LIKELY_BETTER: ("likely real: faster", "green"),
    BETTER: ("changed: faster", "green"),
    GAINED: ("a figure now", "green"),
}
"""Words and style of each verdict, the most harmful first. Failing: only some launches give a figure now."""
UNNAMED = (UNSURE, NOT_WORSE)
"""Verdicts that name no change."""


@dataclass(frozen=True)
class Verdict:
    """Verdict on one figure, or on what is common to a path's figures in a group of sizes."""

    key: Key
    """Of a group without a size."""
    sizes: tuple[int, ...]
    what: str
    """One of SAYS."""
    change: Change | None
    """Of a group the median over its sizes."""
    reason: Reason | None = None
    """Why a slowdown cannot be excluded; none of a size that only by itself cannot be told."""
    smallest: float | None = None
    """The slowdown of a whole group that is found in nine cases of ten, as a share of the time."""
    odd: tuple[OddLaunch, ...] = ()
    old_s: float | None = None
    """Median of a figure's launches' medians, in seconds; of a group that it has one size."""
    new_s: float | None = None
    amount: int = 0
    """Bytes used for the bandwidth."""
    failure: Failure | None = None
    left_out: tuple[Reason, ...] = ()
    """Reasons for which some launches do not count, each once."""

    @property
    def harmful(self) -> bool:
        return self.what in (LOST, FAILING, *HARMFUL)

    @property
    def where(self) -> str:
        """'aware at 8 B to 4 KiB'."""
        return f"{self.key.path} at {size_range(self.sizes)}"

    @property
    def style(self) -> str:
        return "dim" if self.what == UNSURE and self.reason is None else SAYS[self.what][1]

    @property
    def harm(self) -> tuple[int, float, Key]:
        """A key to sort by, the most harmful first; what is as harmful to a millionth, by its size."""
        ratio = round(self.change.log_ratio if self.change else 0.0, 6)
        return [*SAYS].index(self.what), -abs(ratio) if self.what in UNNAMED else -ratio, self.key


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on all figures, and on all paths, the most harmful first."""

    figures: list[Verdict]
    groups: list[Verdict]

    @property
    def harmful(self) -> bool:
        return any(verdict.harmful for verdict in (*self.groups, *self.figures))


def unjudged(found: Verdicts) -> list[Unjudged]:
    """Figures and paths that cannot be told, by path and reason."""
    return by_path(unsure(found), [figure.key for figure in found.figures])


def unsure(found: Verdicts) -> list[tuple[Key, Reason]]:
    """Figures that cannot be told, and why; none of a group whose own verdict stands."""
    alone = [(figure.key, figure.reason) for figure in found.figures if figure.reason]
    return sorted(alone, key=lambda pair: pair[0])


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


def by_path(
    figures: Iterable[tuple[Key, Reason]], among: Iterable[Key] = (), when: str = ""
) -> list[Unjudged]:
    """Lists what is not judged, by path and reason. `among`: all that is compared; `when`: last words."""
    alike = grouped(((key.series, reason), key.bytes) for key, reason in figures)
    every = grouped((key.series, key.bytes) for key in among)
    return [
        Unjudged(f"{key.title} at {size_ranges(sizes, every.get(key, ()))}{when}", reason)
        for (key, reason), sizes in alike.items()
    ]


def verdicts(
    matched: Matched,
    spread: float | None = None,
    least: float = 0.0,
    false_alarms: float = COMPARED_ALARMS,
    history: Mapping[Key, Side] | None = None,
    learnt: Mapping[Key, Spread] | None = None,
    likely: bool = True,
) -> Verdicts:
    """A verdict for each pair, and for each path in each group of sizes.

    `spread`: what launches differ by, if it is known. `least`: changes of the time up to this share count as
    none. `false_alarms`: the probability that anything is called changed where nothing has. `history`:
    launches() of earlier runs, if there are any. `learnt`: what bounds say that launches differ by.
    `likely`: what is further apart than launches of such paths lie is named, too.
    """
    both = [pair for pair in matched.pairs if pair.old.entries and pair.new.entries]
    told: list[tuple[list[FigurePair], GroupChange]] = []
    for curve in grouped((pair.key.series, pair) for pair in both).values():
        for places in groups([pair.key.bytes for pair in curve]):
            group = [curve[at] for at in places]
            told.append((group, _changed(group, spread, history or {}, learnt or {})))
    # What cannot be told is not among those of which some are named.
    p_values = [changes.p for _, changes in told if changes.whole]
    level = false_alarms / max(len(p_values), 1)
    chosen = iter(convincing(p_values, false_alarms))
    named = [bool(changes.whole) and next(chosen) for _, changes in told]
    # Inside the groups that are named, the share of false ones stays as it is (Benjamini and Bogomolov 2014).
    within = level * sum(named)
    wholes = []
    figures = [
        _of_figure(pair, LOST if pair.old.entries else GAINED, None, None)
        for pair in matched.pairs
        if not (pair.old.entries and pair.new.entries)
    ]
    for (group, changes), is_named in zip(told, named, strict=True):
        inside = within if is_named else -1.0
        whole = _of_group(group, changes, inside, least, level, likely)
        wholes.append(whole)
        real = iter(convincing([change.p for change in changes.figures if change], inside))
        for pair, change in zip(group, changes.figures, strict=True):
            what = verdict(change, next(real), least, likely) if change else UNSURE
            reason = None if change else _why_not(pair)
            if what in UNNAMED and whole.reason:
                what, reason = whole.what, reason or whole.reason
            elif what in UNNAMED and change and doubtful(change, least):
                reason = ONE_LAUNCH if change.launches == (1, 1) else FEW_LAUNCHES
            figures.append(_of_figure(pair, what, change, reason))
    return Verdicts(
        sorted(figures, key=lambda verdict: verdict.harm), sorted(wholes, key=lambda whole: whole.harm)
    )


def _changed(
    group: Sequence[FigurePair],
    spread: float | None,
    history: Mapping[Key, Side],
    learnt: Mapping[Key, Spread],
) -> GroupChange:
    key = group[0].key
    return group_change(
        [(_side(pair.old.entries), _side(pair.new.entries)) for pair in group],
        stated(mover_of(key.path, group[0].new.entries[-1].memory), key.bytes),
        spread,
        [history.get(pair.key, {}) for pair in group],
        [learnt.get(pair.key) for pair in group],
    )


def launches(runs: Sequence[Run]) -> dict[Key, Side]:
    """Launches of each figure that verdicts are told from, in the order of the runs."""
    return {key: _side(found) for key, found in entries(runs).items()}


def _of_group(
    group: Sequence[FigurePair], told: GroupChange, within: float, least: float, level: float, likely: bool
) -> Verdict:
    """`within`: the level inside what is named, below 0 of another group; `level`: for one group alone."""
    key, sizes, whole = group[0].key.series, tuple(pair.key.bytes for pair in group), told.whole
    if whole is None:
        return Verdict(key, sizes, UNSURE, None, _why_not(group[0]))
    what = verdict(whole, whole.p <= within, least, likely)
    reason = None
    if what in UNNAMED and not excludes(whole, least):
        reason = ONE_LAUNCH if whole.launches == (1, 1) else FEW_LAUNCHES
    old_s, new_s = _times(group[0]) if len(group) == 1 else (None, None)
    more = told.smallest(level, least, likely=likely), told.odd, old_s, new_s
    return Verdict(key, sizes, what, whole, reason, *more)


def _why_not(pair: FigurePair) -> Reason:
    sides = pair.old.entries, pair.new.entries
    if all(map(_sure, sides)):
        return NO_INTERVAL
    doubts = [_doubt(entry) for side in sides for entry in side if not entry.sure]
    return WAITED if WAITED in doubts else UNCERTAIN


def _doubt(entry: Entry) -> Reason:
    return WAITED if entry.contended else UNCERTAIN


def _of_figure(pair: FigurePair, what: str, change: Change | None, reason: Reason | None) -> Verdict:
    old, new = pair.old, pair.new
    failure = None
    if what == GAINED:
        failure = old.failures[-1]
    elif new.failures and (what == LOST or not old.failures):
        failure = new.failures[-1]
        what = LOST if what == LOST else FAILING
    old_s, new_s = _times(pair)
    doubts = dict.fromkeys(_doubt(entry) for entry in (*old.entries, *new.entries) if not entry.sure)
    return Verdict(
        *(pair.key, (pair.key.bytes,), what, change, reason),
        old_s=old_s,
        new_s=new_s,
        amount=(new.entries or old.entries)[-1].amount,
        failure=failure,
        left_out=tuple(doubts),
    )


def _times(pair: FigurePair) -> tuple[float | None, float | None]:
    """Old and new time, in seconds; None on a side without a figure."""
    old, new = (median_s(side.entries) if side.entries else None for side in (pair.old, pair.new))
    return old, new


def median_s(entries: Sequence[Entry]) -> float:
    """Seconds: the median of the medians of the launches that a change is told from, else of all."""
    return median(entry.seconds for entry in _sure(entries) or entries)


def _sure(entries: Sequence[Entry]) -> list[Entry]:
    """Without the launches whose ranks waited for CPUs, or whose interval says nothing (over ±100 %)."""
    return [entry for entry in entries if entry.sure]


def _side(found: Sequence[Entry]) -> Side:
    return by_launch((entry, launch(entry)) for entry in _sure(found))
