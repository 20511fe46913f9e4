"""How far the launches of two sides lie apart, and how sure that is.

A launch is the unit: whatever slows one down slows alike what it measures of a path in a group of sizes, so
its figures count once. Pure Python with nothing but the standard library. For users: docs/comparing.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wirespeed.judge.spreads import LEAST_RANGE, LEAST_RANGE_OF_A_SIZE, REACH, Spread
from wirespeed.statistics.differences import median_difference
from wirespeed.statistics.samples import median
from wirespeed.statistics.student import (
    KNOWN,
    NORMAL_975,
    POWER,
    bounded_exp,
    found_at,
    simes,
    student_point,
    student_tail,
)

SEEN, PAIRED, GIVEN, LEARNT = "seen", "paired", "given", "learnt"
EARLIER, STATED = "earlier", "stated"
"""Sources of a spread: these launches; their differences, as they took turns and both sides rise and fall
together; the user; bounds learnt from launches of the same thing; earlier launches of it; other machines'
launches of such paths."""
UNSEEN_SPREAD = 0.05
"""Standard deviation between launches of a path that CPUs move (results/README.md#ten-default-runs)."""
MIN_SPREAD = 0.001
"""Launches that agree by more than this do so by chance, or by their clock."""
WHOLE_SHARE = 0.8
"""The share of a group's false alarms that the test of the whole group may cause; the rest is its sizes'."""
_PAIRS = 1.1
"""Variance of the median of all differences between two sides over that of the difference of their means,
from three launches on: at most so much for normal noise."""
FEWEST_PAIRS = 4
"""Fewer new launches between two old ones do not show whether both sides rise and fall together."""
TOGETHER = 0.01
"""Probability of a correlation between the sides as large as one that pairs them, where there is none."""
_SHARED = 1.5
"""Variance of the mean of differences that share old launches over that of independent ones, at most."""
_FEWEST_FOR_ODD = 3
FEWEST_EARLIER = 4
"""Fewer earlier launches do not tell what launches differ by."""
FEWEST_LEARNT = 5
"""Bounds are learnt from so many launches, or more."""

LaunchId = Hashable


@dataclass(frozen=True)
class LaunchMedian:
    """One launch's median and the ends of that median's 95 % interval, in seconds."""

    median: float
    low: float | None
    high: float | None
    at: str = ""
    """Moment at which it was measured, which sorts by time; "": not known."""

    @property
    def variance(self) -> float | None:
        """Variance of the median's logarithm within this launch; None without an interval."""
        if not self.low or not self.high:
            return None
        return (math.log(self.high / self.low) / 2 / NORMAL_975) ** 2


def over_launches(launch: LaunchMedian) -> tuple[float, float] | None:
    """The 95 % interval, in seconds, of the median of many launches, of which this is the only one known.

    None without an interval of its own.
    """
    if not launch.low or not launch.high:
        return None
    unseen = NORMAL_975 * UNSEEN_SPREAD
    below = math.hypot(math.log(launch.median / launch.low), unseen)
    above = math.hypot(math.log(launch.high / launch.median), unseen)
    return launch.median * bounded_exp(-below), launch.median * bounded_exp(above)


Side = Mapping[LaunchId, LaunchMedian]
"""The launches of one figure on one side, in the order of time."""


@dataclass(frozen=True)
class Change:
    """Ratio of the times, with what is needed to say how sure that is."""

    log_ratio: float
    error: float
    """Standard error of `log_ratio`."""
    freedom: float
    """Degrees of freedom of that error."""
    launches: tuple[int, int]
    spread: float
    """Standard deviation between launches that the error rests on."""
    usual: float
    """The same as launches of such paths usually have it."""
    least_range: float = LEAST_RANGE
    source: str = SEEN
    """Where the spread comes from."""
    earlier: int = 0
    """Launches that showed it, if it is EARLIER."""

    @property
    def seen(self) -> bool:
        """Did launches of the same thing show the spread, or does the user know it?"""
        return self.source != STATED

    @property
    def ratio(self) -> float:
        """New time over old time."""
        return bounded_exp(self.log_ratio)

    @property
    def p(self) -> float:
        """Probability of so large a change where there is none; 1 where no launches show their spread."""
        if not self.log_ratio or not self.seen:
            return 1.0
        return student_tail(abs(self.log_ratio) / self.error, self.freedom) if self.error else 0.0

    @property
    def range(self) -> float:
        """Ratio up to which two such launches differ by themselves."""
        return max(bounded_exp(REACH * max(self.usual, self.spread)), self.least_range)

    @property
    def beyond_range(self) -> bool:
        return abs(self.log_ratio) > math.log(self.range)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Ends of the ratio's interval."""
        if not self.seen:
            return self.ratio / self.range, min(self.ratio * self.range, bounded_exp(700.0))
        half = student_point(1 - confidence, self.freedom) * self.error
        return bounded_exp(self.log_ratio - half), bounded_exp(self.log_ratio + half)

    def smallest(self, level: float, least: float = 0.0) -> float:
        """The smallest slowdown that is significant at `level` and more than `least` in POWER of cases.

        Slowdown and `least` are shares of the time.
        """
        if not self.seen:
            return self.smallest_likely(least)
        found = found_at(level, self.freedom) * self.error
        beyond = math.log1p(least) + student_point(2 * (1 - POWER), self.freedom) * self.error
        return bounded_exp(max(found, beyond) if least else found) - 1

    def smallest_likely(self, least: float = 0.0) -> float:
        """The same of one that is further apart than launches of such paths lie."""
        return max(bounded_exp(math.log(self.range) + 1.28 * self.error), 1 + least) - 1


@dataclass(frozen=True)
class OddLaunch:
    """A launch that lies further from the others of its side than such launches usually differ."""

    side: int
    """0: old, 1: new."""
    number: int
    """From 1, in the order of time."""
    ratio: float
    """Its time over that of the others."""


@dataclass(frozen=True)
class GroupChange:
    """A path's change in a group of sizes: of all of them together, and of each."""

    whole: Change | None
    """The change common to all sizes; None where nothing tells how sure it is."""
    figures: list[Change | None]
    """In the order of the sizes."""
    odd: tuple[OddLaunch, ...] = ()

    @property
    def p(self) -> float:
        """Probability of any change as sure as this where nothing has changed at any size."""
        known = [change.p for change in self.figures if change]
        if self.whole is None or len(known) < 2:
            return simes(known)
        return min(1.0, self.whole.p / WHOLE_SHARE, simes(known) / (1 - WHOLE_SHARE))

    def smallest(self, level: float, least: float = 0.0, *, likely: bool = False) -> float | None:
        """The smallest slowdown of the whole group that is found in POWER of cases: a share of the time.

        `likely`: what is further apart than launches of such paths lie is found, too.
        """
        if self.whole is None:
            return None
        several = sum(change is not None for change in self.figures) > 1
        found = self.whole.smallest(level * (WHOLE_SHARE if several else 1.0), least)
        return min(found, self.whole.smallest_likely(least)) if likely else found


def group_change(
    sides: Sequence[tuple[Side, Side]],
    usual: Spread,
    spread: float | None = None,
    history: Sequence[Side] = (),
    learnt: Sequence[Spread | None] = (),
) -> GroupChange:
    """The figures of one path in one group of sizes, each with its launches on both sides.

    `usual`: what launches of such paths differ by; `spread`: what these ones do, if that is known. The
    change of a launch is the median over the sizes, so that wide ones do not hide what the others show.
    `history`: of each figure, earlier launches, if there are any: variances are at least what they tell.
    `learnt`: of each figure, what bounds say that launches differ by, for one launch a side.
    """
    histories, bounds = [*history] or [{}] * len(sides), [*learnt] or [None] * len(sides)
    priors = [
        Prior(usual.figure, spread, bound.figure if bound else None, _logs(seen.values()))
        for bound, seen in zip(bounds, histories, strict=True)
    ]
    figures = [
        change([*old.values()], [*new.values()], prior)
        for (old, new), prior in zip(sides, priors, strict=True)
    ]
    both = [(old, new) for old, new in sides if old and new]
    if len(both) < 2:
        return GroupChange(next((figure for figure in figures if figure), None), figures)
    centres = [_centre(*pair) for pair in both]
    olds, news = (_timed([pair[at] for pair in both], centres) for at in (0, 1))
    seen_in_both = [seen for pair, seen in zip(sides, histories, strict=True) if all(pair)]
    earlier = [*common(seen_in_both, centres).values()]
    within = [variance for pair in both for side in pair if (variance := _within([*side.values()]))]
    # Errors within a launch are each figure's own, so that their median over the sizes has less of them.
    own = median(within) / len(both) if within else None
    of_group = max(bound.group for bound in bounds if bound) if all(bounds) else None
    prior = Prior(usual.group, spread, of_group, earlier)
    least = max(own or 0.0, prior.variance)
    whole = _tested(olds, news, (least, least), prior, LEAST_RANGE) if any(figures) else None
    odd = [odd_launches([log for _, log in side], at, usual.group) for at, side in enumerate((olds, news))]
    return GroupChange(whole, figures, (*odd[0], *odd[1]))


def odd_launches(logs: Sequence[float], side: int, usual: float) -> list[OddLaunch]:
    """At most one: the launch furthest from the median of the others, if such launches do not differ so much.

    Nor do the others, whatever is usual.
    """
    if len(logs) < _FEWEST_FOR_ODD:
        return []
    centre = median(logs)
    at = max(range(len(logs)), key=lambda one: abs(logs[one] - centre))
    others = sorted([*logs[:at], *logs[at + 1 :]])
    away = logs[at] - median(others)
    if abs(away) <= max(math.log(LEAST_RANGE), REACH * usual, 2 * (others[-1] - others[0])):
        return []
    return [OddLaunch(side, at + 1, bounded_exp(away))]


def common(sides: Sequence[Side], centres: Sequence[float]) -> dict[LaunchId, float]:
    """Common part of each launch's figures: the median distance of their logarithms from `centres`.

    Launches that gave less than half as many figures as the fullest one are left out.
    """
    distances: dict[LaunchId, list[float]] = {}
    for side, centre in zip(sides, centres, strict=True):
        for name, launch in side.items():
            distances.setdefault(name, []).append(math.log(launch.median) - centre)
    fullest = max(map(len, distances.values()), default=0)
    return {name: median(found) for name, found in distances.items() if 2 * len(found) >= fullest}


_Timed = list[tuple[str, float]]
"""Of each launch, when it measured the first of some figures, and the logarithm of its time."""


def _timed(sides: Sequence[Side], centres: Sequence[float]) -> _Timed:
    """`sides`: launches of several figures; the time is what they have in common."""
    found = common(sides, centres).items()
    return [(next(side[name].at for side in sides if name in side), log) for name, log in found]


def _by_turns(old: _Timed, new: _Timed) -> list[tuple[float, float]]:
    """Of each new launch between two old ones: the logarithm that the old side has at its place, and its own.

    None where moments are not known, or more than two of a side come in a row: those are not by turns.
    """
    if not all(at for at, _ in (*old, *new)):
        return []
    order = sorted((at, is_new, log) for is_new, side in enumerate((old, new)) for at, log in side)
    places = [place for place, (_, is_new, _) in enumerate(order) if not is_new]
    pairs = []
    for before, after in pairwise(places):
        if after - before > 3:
            return []
        for place in range(before + 1, after):
            share = (place - before) / (after - before)
            pairs.append(((1 - share) * order[before][2] + share * order[after][2], order[place][2]))
    return pairs


def _together(pairs: Sequence[tuple[float, float]]) -> bool:
    """Is it no chance that both sides rise and fall together?"""
    if len(pairs) < FEWEST_PAIRS:
        return False
    old, new = zip(*pairs, strict=True)
    spreads = deviation(old) * deviation(new)
    means = _mean(old), _mean(new)
    both = math.fsum((a - means[0]) * (b - means[1]) for a, b in pairs) / (len(pairs) - 1)
    freedom = len(pairs) - 2
    if both <= 0 or not spreads:
        return False
    rest = max(1 - (both / spreads) ** 2, 1e-12)
    return student_tail(both / spreads * math.sqrt(freedom / rest), freedom) < 2 * TOGETHER


def _centre(old: Side, new: Side) -> float:
    """Both sides count alike, however many launches they have."""
    return (median(_logs(old.values())) + median(_logs(new.values()))) / 2


@dataclass(frozen=True)
class Prior:
    """What is known of the spread between launches, beside those that are compared."""

    usual: float
    """Standard deviation that launches of such paths have."""
    given: float | None = None
    """The same of these, as the user says, or bounds that were learnt from launches of the same thing."""
    learnt: float | None = None
    earlier: Sequence[float] = ()
    """Logarithms of earlier launches' times."""

    @property
    def variance(self) -> float:
        """Of earlier launches; 0 of fewer than two."""
        return _variance(self.earlier) if len(self.earlier) > 1 else 0.0


def change(old: Sequence[LaunchMedian], new: Sequence[LaunchMedian], prior: Prior) -> Change | None:
    """The change of one figure; None where nothing tells how sure it is.

    Variances are at least those within the launches, and that of earlier ones.
    """
    if not (old and new):
        return None
    if len(old) == len(new) == 1 and None in (old[0].variance, new[0].variance):
        return None
    within = [max(_within(side) or 0.0, prior.variance) for side in (old, new)]
    olds, news = ([(launch.at, math.log(launch.median)) for launch in side] for side in (old, new))
    return _tested(olds, news, within, prior, LEAST_RANGE_OF_A_SIZE)


def _tested(old: _Timed, new: _Timed, within: Sequence[float], prior: Prior, least_range: float) -> Change:
    """`within`: of both sides, the variance of one launch that is known, at least.

    The ratio is the median of those of all pairs of an old and a new launch; Student's t tells how sure it
    is.
    """
    olds, news = ([log for _, log in side] for side in (old, new))
    counts = len(old), len(new)
    difference = median_difference(olds, news)
    floors = [max(variance, MIN_SPREAD**2) for variance in within]
    least, launches = max(floors), 1 / counts[0] + 1 / counts[1]
    seen = [
        (max(_variance(side), floor), len(side) - 1)
        for side, floor in zip((olds, news), floors, strict=True)
        if len(side) > 1
    ]

    def told(source: str, variance: float, freedom: float, error: float = 0.0) -> Change:
        error = (error or variance * launches) * (_PAIRS if min(counts) > 2 else 1.0)
        deviations = math.sqrt(error), freedom, counts, math.sqrt(variance), prior.usual
        return Change(difference, *deviations, least_range, source)

    if prior.given is None and _together(turns := _by_turns(old, new)):
        differences = [new_one - old_one for old_one, new_one in turns]
        means = [(a + b) / 2 for at, a in enumerate(differences) for b in differences[at:]]
        variance = max(_variance(differences), least)
        paired = told(PAIRED, variance, len(turns) - 1, _SHARED * variance / len(turns))
        return replace(paired, log_ratio=median(means))
    degrees = sum(count for _, count in seen)
    pooled = sum(variance * count for variance, count in seen) / max(degrees, 1)
    if prior.given is not None and pooled <= (given := prior.given**2 + least):
        return told(GIVEN, given, KNOWN)
    if not seen:
        # Few launches do not show a rare slow mode, which others of such paths have shown.
        most = max(least, prior.usual**2)
        if prior.learnt is not None:
            return told(LEARNT, max(prior.learnt**2, most), FEWEST_LEARNT - 1)
        if (count := len(prior.earlier)) >= FEWEST_EARLIER:
            return replace(told(EARLIER, most, count - 1), earlier=count)
        return told(STATED, prior.usual**2 + least, KNOWN)
    if len(seen) == 1:
        # Held against the spread of the other side, of whose tail few launches tell little.
        return told(SEEN, max(pooled, least), max(degrees / 2, 1.0))
    if counts[0] == counts[1]:
        return told(SEEN, pooled, degrees)
    # The pooled variance is too sure where the side with fewer launches differs more.
    parts = [(variance / (freedom + 1), freedom) for variance, freedom in seen]
    error = sum(part for part, _ in parts)
    welch = error**2 / sum(part**2 / freedom for part, freedom in parts)
    return told(SEEN, pooled, welch if min(counts) > 2 else 1.0, max(error, pooled * launches))


def _logs(side: Iterable[LaunchMedian]) -> list[float]:
    return [math.log(launch.median) for launch in side]


def deviation(logs: Sequence[float]) -> float:
    """The standard deviation of two values or more."""
    return math.sqrt(_variance(logs))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _within(side: Sequence[LaunchMedian]) -> float | None:
    """The mean variance within a launch, of those that have one."""
    known = [variance for launch in side if (variance := launch.variance) is not None]
    return _mean(known) if known else None
