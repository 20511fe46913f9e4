"""Medians and their intervals.

Pure Python with nothing but the standard library: ranks import it. How each figure comes about, for users:
docs/measuring.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypedDict

from wirespeed.statistics.histogram import SHORTEST_S, Histogram, HistogramCounts

CONFIDENCE = 0.95
FINE_BINS_PER_OCTAVE = 4096
"""Resolution of the histogram that replaces samples too many to keep: a bin is 0.017 % wide."""
KEPT_SAMPLES = 1 << 17
"""So many samples are kept as they are."""
KEPT_BATCHES = 9_999
"""When there are more batch medians, each three neighbours become their median."""
MAX_GROUPS = 20
"""Batches are joined until no more groups than these are left: long groups depend less on each other."""
_MAX_CORRELATION = 0.9
WIDER = 1.35
"""A launch's interval reaches so many times as far among its batches as order statistics say: stopping picks
batches that agree by chance, and slow noise and a second speed do not show in so few of them."""
WIDEST = 1e9
"""An interval that reaches from the median to so many times less, or more, says no less than a wider one."""

# Two-sided 95 % points of Student's t for 2, 3 and 4 degrees of freedom:
# NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2, column 0.975, to more digits.
_STUDENT_T = {2: 4.302652729911, 3: 3.182446305284, 4: 2.776445105198}
COARSE = 0.05
"""Figures that are within ± this share need no more time."""
FEWEST_BATCHES = 3
"""Below, there is no interval."""
_FEWEST_FOR_ORDER = 6
ENOUGH_FOR_RANGE = 24
"""Batches, from which on a time beyond all of them and by more than COARSE is no median, however much
neighbours have in common."""


class Times(TypedDict):
    """Seconds: median, ends of its interval, and the distribution."""

    median: float
    low: float | None
    high: float | None
    min: float
    max: float
    p99: float
    mean: float
    speeds: tuple[float, float] | None
    """Two times between which batches switched."""
    changed: tuple[float, float] | None
    """Two times between which they changed once or twice."""


class Summary(TypedDict):
    """What a record says of samples."""

    seconds: Times
    confidence: float
    precision: float | None
    samples: int
    batches: int
    histogram: HistogramCounts


class Samples:
    """The samples of one figure, batch by batch, in bounded memory.

    Up to KEPT_SAMPLES samples are kept, and every figure of them is exact. Beyond, they go into a histogram
    of fine bins: count, min, max and mean stay exact, quantiles are off by less than 0.017 %. Of each batch
    only the median is kept, and that exactly.
    """

    def __init__(self) -> None:
        self.count = 0
        self.batches = 0
        self.latest = 0.0
        """Median of the latest batch."""
        self.step_s = 0.0
        """The smallest difference between samples that their clock can tell; it widens the interval."""
        self._kept: list[float] = []
        self._fine: Histogram | None = None
        self._medians: list[float] = []
        self._sum, self._min, self._max = 0.0, math.inf, 0.0

    def add(self, batch: Sequence[float], each: bool = False) -> None:
        """Adds the samples of one batch, in seconds. Raises ValueError for what cannot be a time.

        `each`: every sample is so long that it counts as a batch.
        """
        if each and len(batch) > 1:
            for sample in batch:
                self.add([sample])
            return
        if not batch:
            return
        ascending, total = sorted(batch), math.fsum(batch)
        if ascending[0] < 0 or not math.isfinite(total):
            raise ValueError("a sample is a time in seconds, from 0 on")
        self.count += len(ascending)
        self.batches += 1
        self._sum += total
        self._min, self._max = min(self._min, ascending[0]), max(self._max, ascending[-1])
        self.latest = median(ascending)
        self._medians.append(self.latest)
        if len(self._medians) > KEPT_BATCHES:
            threes = range(0, len(self._medians) - 2, 3)
            self._medians = [sorted(self._medians[i : i + 3])[1] for i in threes]
        self._kept += ascending
        if len(self._kept) > KEPT_SAMPLES:
            self._fold()

    def _fold(self) -> None:
        if self._fine is None:
            self._fine = Histogram(FINE_BINS_PER_OCTAVE)
        self._kept.sort()
        self._fine.add_sorted(self._kept)
        self._kept = []

    def _ranked(self, rank: int) -> float:
        if self._fine is None:
            return self._kept[rank - 1]
        return min(max(self._fine.ranked(rank), self._min), self._max)

    def _settle(self) -> None:
        """Makes _ranked() ready."""
        if not self.count:
            raise ValueError("no samples")
        if self._fine is None:
            self._kept.sort()
        else:
            self._fold()

    def median(self) -> float:
        """Median of all samples."""
        self._settle()
        half = self.count // 2
        return self._ranked(half + 1) if self.count % 2 else (self._ranked(half) + self._ranked(half + 1)) / 2

    def p99(self) -> float:
        """The smallest sample with at least 99 % of the samples at or below it."""
        self._settle()
        return self._ranked(-(-99 * self.count // 100))

    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the median; None with fewer than three batches."""
        return self._interval_around(self.median()) if self.count else None

    def _interval_around(self, median: float, within: bool = True) -> tuple[float, float] | None:
        """`within`: as of median_interval."""
        if len(self._medians) < FEWEST_BATCHES:
            return None
        # A median that reads k steps may be anything from k - 1/2 to k + 1/2, however often it is read.
        low, high = median_interval(self._medians, median, WIDER, within) or (median, median)
        return max(0.0, low - self.step_s / 2), high + self.step_s / 2

    def precision(self) -> float | None:
        """Half the interval's width as a share of the median; None where there is no interval.

        For the stopping rule: of an interval that may reach beyond all batches.
        """
        if self.batches < FEWEST_BATCHES:
            return None
        median = self.median()
        return _share(self._interval_around(median, within=False), median)

    @property
    def medians(self) -> Sequence[float]:
        """Medians of the batches in the order measured."""
        return self._medians

    @property
    def histogram(self) -> Histogram:
        """Histogram of all samples, for the result file."""
        histogram = Histogram()
        if self._fine:
            histogram.merge(self._fine)
        histogram.add(self._kept)
        return histogram

    def summary(self) -> Summary:
        """Summary of the samples for a record. Raises ValueError if there are none."""
        median = self.median()
        interval = self._interval_around(median)
        return {
            "seconds": {
                "median": median,
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "min": self._min,
                "max": self._max,
                "p99": self.p99(),
                "mean": min(max(self._sum / self.count, self._min), self._max),
                "speeds": None,
                "changed": None,
            },
            "confidence": CONFIDENCE,
            "precision": _share(interval, median),
            "samples": self.count,
            "batches": self.batches,
            "histogram": self.histogram.to_dict(),
        }


def _share(interval: tuple[float, float] | None, median: float) -> float | None:
    if not interval or median <= 0:
        return None
    return min((interval[1] - interval[0]) / 2 / median, WIDEST)


def median(values: Iterable[float]) -> float:
    """Of one value or more."""
    ascending = sorted(values)
    half = len(ascending) // 2
    return ascending[half] if len(ascending) % 2 else (ascending[half - 1] + ascending[half]) / 2


def median_interval(
    batch_medians: Sequence[float], median: float, wider: float = 1.0, within: bool = True
) -> tuple[float, float] | None:
    """The 95 % confidence interval of the median from the medians of batches, in the order measured.

    Six and more groups of batches: order statistics, which ask nothing of the distribution, widened by what
    neighbouring groups have in common. Three to five: Student's t of the logarithms. Fewer: None. It always
    contains `median`, the median of all samples. `wider`: how many times as far it reaches. `within`: ends at
    the fastest and the slowest of many batches, where it would be wide.
    """
    logs = [math.log(max(value, SHORTEST_S)) for value in _grouped(batch_medians)]
    centre, n = math.log(max(median, SHORTEST_S)), len(logs)
    if n < FEWEST_BATCHES:
        return None
    if n < _FEWEST_FOR_ORDER:
        mean = math.fsum(logs) / n
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (n - 1))
        half = _STUDENT_T[n - 1] * deviation / math.sqrt(n)
        low, high = mean - half, mean + half
    else:
        ascending, (depth, wider) = sorted(logs), _deeper(n, wider)
        low, high = ascending[depth], ascending[n - 1 - depth]
        common = _common(logs)
        wider *= math.sqrt((1 + common) / (1 - common))
    below, above = max(centre - low, 0.0) * wider, max(high - centre, 0.0) * wider
    if within and len(batch_medians) >= ENOUGH_FOR_RANGE:
        fastest, slowest = (
            math.log(max(end, SHORTEST_S)) for end in (min(batch_medians), max(batch_medians))
        )
        below, above = min(below, max(centre - fastest, COARSE)), min(above, max(slowest - centre, COARSE))
    below, above = min(below, math.log(WIDEST)), min(above, math.log(WIDEST))
    return median * math.exp(-below), median * math.exp(above)


def ratio_interval(
    pair: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float, float]:
    """one / other and the 95 % interval of that ratio, from each figure's (median, low, high).

    MOVER (Zou and Donner 2008) on logarithms: the two figures vary independently, so the distances from the
    medians to the ends of their intervals add up as squares.
    """

    def away(first: float, second: float) -> float:
        return math.hypot(math.log(first), math.log(second))

    ratio = pair[0] / other[0]
    below = away(pair[0] / pair[1], other[2] / other[0])
    above = away(pair[2] / pair[0], other[0] / other[1])
    return ratio, ratio * math.exp(-below), ratio * math.exp(above)


def difference_interval(
    pair: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float, float]:
    """one - other and the 95 % interval of that difference, by the same method (MOVER) without logarithms."""
    difference = pair[0] - other[0]
    below = math.hypot(pair[0] - pair[1], other[2] - other[0])
    above = math.hypot(pair[2] - pair[0], other[0] - other[1])
    return difference, difference - below, difference + above


def _deeper(n: int, wider: float) -> tuple[int, float]:
    """Number of n values to leave out at each end to reach so many times as far, and what is still lacking.

    Ranks are counted from the middle, so that a second speed, which has a few of the values, is included.
    """
    centre = (n - 1) / 2
    wanted = (centre - order_depth(n)) * wider
    depth = max(math.ceil(centre - wanted), 0)
    return depth, wanted / (centre - depth)


def order_depth(n: int) -> int:
    """Number of n values to leave out at each end.

    The greatest depth with P(X <= depth) <= 2.5 % for X binomial(n, 1/2): the values of ranks depth + 1 and
    n - depth then hold the median between them with at least 95 %, whatever the distribution.
    """
    depth, tail = -1, 0
    while True:
        tail += math.comb(n, depth + 1)
        if 40 * tail > 1 << n:
            return max(depth, 0)
        depth += 1


def _grouped(medians: Sequence[float]) -> Sequence[float]:
    """Medians of groups of neighbouring batches: odd in number, so that skew cannot shift them."""
    size = 1
    while len(medians) // size > MAX_GROUPS:
        size += 2
    # What is left over goes to the last group; where that would make it even, the first batch stays out.
    skipped = len(medians) % size % 2
    starts = [skipped + size * i for i in range(len(medians) // size)]
    ends = [*starts[1:], len(medians)]
    return [median(medians[a:b]) for a, b in zip(starts, ends, strict=True)]


def _common(values: Sequence[float]) -> float:
    """Correlation of neighbours, by ranks, with the bias of short series taken out; never below 0."""
    n, ascending = len(values), sorted(values)
    # Ranks from the middle, ties sharing theirs.
    ranks = [bisect_left(ascending, v) + (ascending.count(v) - 1) / 2 - (n - 1) / 2 for v in values]
    whole = sum(rank * rank for rank in ranks)
    if not whole:
        return 0.0
    raw = sum(a * b for a, b in pairwise(ranks)) / whole
    return min(max(raw + (1 + 4 * raw) / n, 0.0), _MAX_CORRELATION)
