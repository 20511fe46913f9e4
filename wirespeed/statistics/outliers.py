"""Outliers among many alike, by how they differ and by how single times scatter.

A subject is slow if two thirds of its times are, by more than sound subjects differ and noise explains. For
users: docs/fleet.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from wirespeed.statistics.arrays import Floats, Places
from wirespeed.statistics.mixed import BELIEF, NORMAL, NORMAL_75, TAIL, USUAL
from wirespeed.statistics.student import NORMAL_90, student_tail

FEWEST_TIMES = 3
"""Independent times that name a subject."""
FEWEST_ALIKE = 4
"""Among fewer nobody can say which one is slow."""
FEWEST_FOR_SOME = 8
"""From so many times on, three that are far too slow are noticed among others that are not."""
_FAR = 5.0
"""Values further off than so many standard deviations say nothing of those alike."""
_UNREACHABLE = 0.05
_PARETO = 3.0
"""Beyond the slowest time seen, the tail falls with this power, as Student's t with 3 degrees does."""
_SPLITS = np.concatenate([np.arange(0, 8, 0.25), np.geomspace(8, 4000, 40)])


@dataclass(frozen=True)
class Spread:
    """Spread of those alike."""

    centre: float
    deviation: float
    """Standard deviation, without those far off."""
    freedom: float
    """Degrees of freedom of the deviation."""

    def without(self, variance: float) -> Spread:
        """The same without what noise adds to it, if that is not nearly all."""
        left = max(self.deviation**2 - variance, 0.4 * self.deviation**2)
        return replace(self, deviation=left**0.5)

    @cached_property
    def splits(self) -> tuple[Floats, Floats]:
        """Distances from the centre, and how often one of those alike is further off."""
        return _SPLITS * self.deviation, _split_tails(self.freedom)

    def p_of(self, distance: float) -> float:
        """Probability that one of those alike is slower than the centre by this much."""
        return student_tail(distance / self.deviation, self.freedom) / 2 if distance > 0 else 1.0


@lru_cache(256)
def _split_tails(freedom: float) -> Floats:
    return np.array([student_tail(float(step), freedom) / 2 for step in _SPLITS])


def medians_of(groups: Places, values: Floats, count: int) -> Floats:
    """The median of each group's values; NaN of a group without any."""
    order = np.lexsort((values, groups))
    ordered = values[order]
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    top = len(ordered) - 1
    low = np.minimum(starts + np.maximum(sizes - 1, 0) // 2, top)
    high = np.minimum(starts + sizes // 2, top)
    return np.where(sizes > 0, (ordered[low] + ordered[high]) / 2, math.nan)


def spread_of(values: Floats) -> Spread:
    """The centre and the spread of the bulk (an empirical null, Efron 2004, doi:10.1198/016214504000000089).

    Begins with the median absolute deviation, then takes all that are not far off. What is expected before
    any values are seen counts as BELIEF of them, less the more they contradict it.
    """
    centre = float(np.median(values))
    deviation = max(float(np.median(np.abs(values - centre))) / NORMAL_75, USUAL / 2)
    near = np.ones(len(values), dtype=bool)
    for _ in range(10):
        near = np.abs(values - centre) <= _FAR * deviation
        before = deviation
        centre, deviation = _scale(values[near])
        if abs(deviation - before) <= 0.001 * before:
            break
    rest = int((np.abs(values - centre) <= _FAR * deviation).sum())
    # The prediction of one more than those seen.
    return Spread(centre, deviation * math.sqrt(1 + 1 / rest), BELIEF + 0.8 * (rest - 1))


def _scale(values: Floats) -> tuple[float, float]:
    """Centre and standard deviation by the likelihood of Student's t, drawn towards what is usual."""
    centre, square = float(np.median(values)), USUAL**2
    for _ in range(30):
        weights = (TAIL + 1) / (TAIL + (values - centre) ** 2 / square)
        centre = float((weights * values).sum() / weights.sum())
        squares = float((weights * (values - centre) ** 2).sum())
        seen = squares * len(values) / max(1, len(values) - 1)
        belief = BELIEF * min(1.0, USUAL**2 * len(values) / seen) if seen else BELIEF
        before, square = square, (belief * (USUAL / NORMAL) ** 2 + seen) / (belief + len(values))
        if abs(square - before) <= 1e-4 * before:
            break
    return centre, NORMAL * math.sqrt(square)


class Tail:
    """Lateness of single times: the distribution of noise, and beyond it a power."""

    def __init__(self, noise: Floats, free: float) -> None:
        """`noise`: of all times, logarithms; `free`: how many independent ones they are worth."""
        self._noise = np.sort(noise)
        self._free = max(1.0, min(free, float(len(noise))))

    def survival(self, late: Floats, without: Floats | None = None) -> Floats:
        """The share of times that are later than this; `without`: ascending noise that does not count."""
        count = len(self._noise) - np.searchsorted(self._noise, late, "left").astype(np.float64)
        total, top = float(len(self._noise)), self._noise[-1]
        if without is not None and len(without) and total > len(without):
            count -= len(without) - np.searchsorted(without, late, "left")
            total -= len(without)
            tops = self._noise[-len(without) - 1 :][::-1]
            differs = tops[: len(without)] != without[::-1]
            top = tops[int(np.argmax(differs))] if differs.any() else tops[-1]
        free = max(1.0, self._free * total / len(self._noise))
        shares = (np.maximum(count, 0) / total * free + 1) / (free + 1)
        beyond = (late > top) & (late > 0)
        tail = np.where(beyond, np.maximum(top, 1e-9) / np.where(beyond, late, 1.0), 1.0)
        found: Floats = np.where(late <= -1e9, 1.0, np.minimum(1.0, shares * tail**_PARETO))
        return found

    def quantile(self, share: float) -> float:
        return float(np.quantile(self._noise, share))


@lru_cache(1024)
def _ways(hits: int, count: int) -> tuple[Places, Floats]:
    """Numbers of hits, and the logarithms of in how many ways they come about."""
    numbers = np.arange(hits, count + 1)
    ways = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in numbers]
    return numbers, np.array(ways)


def at_least(hits: int, count: int, chance: Floats) -> Floats:
    """The probability of so many hits in `count` independent attempts, each with this chance."""
    numbers, ways = _ways(hits, count)
    chance = np.clip(chance, 1e-300, 1 - 1e-12)[:, None]
    terms = ways + numbers * np.log(chance) + (count - numbers) * np.log1p(-chance)
    found: Floats = np.minimum(1.0, np.exp(terms).sum(axis=1))
    return found


def hits_of(count: int) -> int:
    """Number of times that must be slow, of so many: two thirds."""
    return count - (count - 1) // 3


def p_of_times(
    slowest: float, hits: int, count: int, spread: Spread, tail: Tail, without: Floats | None = None
) -> float:
    """Probability that a sound subject has so many of `count` times at or above a distance from the
    centre.

    What a subject differs by and what noise adds are split in every way: the probability that their sum
    reaches the distance is at most that of one part plus that of the other (Boole).
    """
    steps, differing = spread.splits
    left = slowest - steps
    noisy = np.where(left > -1e9, at_least(hits, count, tail.survival(left, without)), 1.0)
    return float(min(1.0, (differing + noisy).min()))


def smallest_named(count: int, level: float, spread: Spread, tail: Tail) -> float:
    """The logarithm of the slowdown that a p value of `level` finds in 90 % of cases, of so many times."""
    hits = hits_of(count)
    low, high = 0.0, 50.0
    if p_of_times(high, hits, count, spread, tail) > level:
        return math.inf
    for _ in range(40):
        middle = (low + high) / 2
        enough = p_of_times(middle, hits, count, spread, tail) <= level
        low, high = (low, middle) if enough else (middle, high)
    # The place of the time that decides, among its subject's times.
    usual, early = (_order_quantile(tail, count, hits, share) for share in (0.5, 0.1))
    return high - usual + NORMAL_90 * math.hypot(spread.deviation, (usual - early) / NORMAL_90)


def _order_quantile(tail: Tail, count: int, hits: int, share: float) -> float:
    """The value that the time which decides is below with this probability."""
    shares = np.linspace(0.001, 0.999, 999)
    # Below it: fewer than `hits` times are above it.
    below = 1 - at_least(hits, count, 1 - shares)
    return tail.quantile(float(shares[int(np.searchsorted(below, share))]))


@dataclass(frozen=True)
class Slow:
    """Evidence in a subject's times."""

    p: float
    """Probability that a sound subject has such times."""
    effect: float
    """Logarithm of its time over the usual one."""
    times: int
    """Independent times that say it."""
    slow_times: int | None = None
    """Number of them that are slow, where the others are not; None: most."""
    lately: float | None = None
    """The latest days alone say it; None: all do."""


def slow_ones(
    subjects: Places,
    values: Floats,
    moments: Floats,
    spread: Spread,
    tail: Tail,
    least: float,
    noise: Floats,
    partners: Places | None = None,
    lately: Sequence[float] = (3.0, 1.0),
) -> dict[int, Slow]:
    """Subjects whose p value is below 1, by their numbers.

    `values`: logarithms of single times over the usual one; `moments`: days; `noise`: what the times hold of
    it, which does not judge their own subject; `partners`: with whom each was taken, so that one bad link
    does not make its two ends look slow; `lately`: also judged are the latest days, so many.
    """
    order = np.lexsort((moments, subjects))
    starts = np.flatnonzero(np.diff(subjects[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    newest = float(moments.max()) if len(moments) else 0.0
    found: dict[int, Slow] = {}
    own = subjects[order[starts]]
    medians = medians_of(subjects, values, int(subjects.max(initial=0)) + 1)[own]
    tops = np.maximum.reduceat(values[order], starts) if len(starts) else medians
    limit = math.log1p(least)
    # Noise alone explains most single times that are late: their p value is at least this.
    unreachable = (ends - starts == 1) & (tail.survival(tops) > _UNREACHABLE)
    for place in np.flatnonzero(((medians > limit) | (tops > limit)) & ~unreachable).tolist():
        rows = order[starts[place] : ends[place]]
        with_whom = np.arange(len(rows)) if partners is None else partners[rows]
        tests = _tests(values[rows], moments[rows], with_whom, newest, lately)
        without = np.sort(noise[rows])
        sure = [
            Slow(
                min(
                    1.0,
                    len(tests) * p_of_times(test.value, test.hits, len(test.times), spread, tail, without),
                ),
                test.effect,
                len(test.times),
                int((test.times > test.effect / 2).sum()) if test.some else None,
                test.days,
            )
            for test in tests
            if test.value > limit / 2 and test.effect > limit
        ]
        if sure:
            found[int(own[place])] = min(sure, key=lambda slow: slow.p)
    return found


class _Test(NamedTuple):
    """A way in which a subject may be slow."""

    value: float
    """The time that decides: so many are at or above it."""
    hits: int
    times: Floats
    some: bool = False
    """Three of the times are slow, the others may be sound."""
    days: float | None = None
    """The latest days alone; None: all."""

    @property
    def effect(self) -> float:
        return float(np.median(np.sort(self.times)[-FEWEST_TIMES:] if self.some else self.times))


def _tests(
    values: Floats, moments: Floats, partners: Places, newest: float, lately: Sequence[float]
) -> list[_Test]:
    def most(times: Floats, days: float | None = None) -> _Test:
        return _Test(float(np.sort(times)[(len(times) - 1) // 3]), hits_of(len(times)), times, days=days)

    tests = [most(values)]
    for days in lately:
        recent = values[moments >= newest - days]
        if FEWEST_TIMES <= len(recent) < len(tests[-1].times):
            tests.append(most(recent, days))
    slowest = [float(values[partners == partner].max()) for partner in np.unique(partners)]
    if len(values) >= FEWEST_FOR_SOME and len(slowest) >= FEWEST_TIMES:
        tests.append(_Test(sorted(slowest)[-FEWEST_TIMES], FEWEST_TIMES, values, True))
    return tests
