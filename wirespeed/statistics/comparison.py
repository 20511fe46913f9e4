"""Is one figure really slower than another? Launches on both sides, and many sizes of many paths at once.

A launch is the unit: whatever slows one down slows all that it measures, so its figures count once. Pure
Python with nothing but the standard library. For users: docs/comparing.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from wirespeed.statistics.samples import middle

UNSEEN_SPREAD = 0.05
"""Standard deviation between launches of the same thing where no side has two of them
(results/README.md#ten-default-runs)."""
UNSEEN_FREEDOM = 3.0
"""Degrees of freedom that this assumption counts as."""
MIN_SPREAD = 0.001
"""Launches that agree by more than this do so by chance, or by their clock."""
FALSE_ALARMS = 0.05
"""The most that may be named as changed where nothing has."""
WHOLE_SHARE = 0.8
"""The share of a path's false alarms that the test of the whole path may cause; the rest is its sizes'."""
POWER = 0.9
"""The smallest change that is told of is found in so many cases."""
_FEWEST_FOR_STEPS = 3
KNOWN = 1e6
"""Degrees of freedom of a spread that the user knows."""

LaunchId = Hashable
NORMAL_90, NORMAL_95, NORMAL_975 = 1.2815515655446004, 1.6448536269514722, 1.959963984540054


@dataclass(frozen=True)
class LaunchMedian:
    """One launch's median and the ends of that median's 95 % interval, in seconds."""

    median: float
    low: float | None
    high: float | None

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
"""The launches of one figure on one side."""


@dataclass(frozen=True)
class Change:
    """Ratio of the times, with what is needed to say how sure that is."""

    log_ratio: float
    error: float
    """Standard error of `log_ratio`."""
    freedom: float
    """Degrees of freedom of that error."""
    launches: tuple[int, int]

    @property
    def ratio(self) -> float:
        """New time over old time."""
        return bounded_exp(self.log_ratio)

    @property
    def p(self) -> float:
        """Probability of so large a change where there is none."""
        if not self.log_ratio:
            return 1.0
        return student_tail(abs(self.log_ratio) / self.error, self.freedom) if self.error else 0.0

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Ends of the ratio's interval."""
        half = student_point(1 - confidence, self.freedom) * self.error
        return bounded_exp(self.log_ratio - half), bounded_exp(self.log_ratio + half)

    def smallest(self, level: float, least: float = 0.0) -> float:
        """The smallest slowdown that is significant at `level` and more than `least` in POWER of cases.

        Slowdown and `least` are shares of the time.
        """
        # Rounded down, which is on the safe side, so that many figures share an answer.
        freedom = math.floor(10 * self.freedom) / 10 if self.freedom < 20 else math.floor(self.freedom)
        freedom = max(freedom, 1.0)
        beyond = math.log1p(least) + student_point(2 * (1 - POWER), freedom) * self.error if least else 0.0
        return bounded_exp(max(found_at(level, freedom) * self.error, beyond)) - 1


@dataclass(frozen=True)
class PathChange:
    """A path's change at all its sizes together, and at each."""

    whole: Change | None
    """The change common to all sizes; None where nothing tells how sure it is."""
    figures: list[Change | None]
    """In the order of the sizes."""

    @property
    def p(self) -> float:
        """Probability of any change as sure as this where nothing has changed at any size."""
        known = [change.p for change in self.figures if change]
        if self.whole is None or len(known) < 2:
            return simes(known)
        return min(1.0, self.whole.p / WHOLE_SHARE, simes(known) / (1 - WHOLE_SHARE))

    def whole_level(self, level: float) -> float:
        """The whole path's share of the path's `level`."""
        return WHOLE_SHARE * level if self._known > 1 else level

    def size_level(self, level: float) -> float:
        """The share of one size alone."""
        return (1 - WHOLE_SHARE) * level / self._known if self._known > 1 else level

    @property
    def _known(self) -> int:
        """Sizes with a change."""
        return sum(change is not None for change in self.figures)

    def smallest(self, level: float, least: float = 0.0) -> float | None:
        """The smallest slowdown of the whole path that is found in POWER of cases, as a share of the time."""
        return self.whole.smallest(self.whole_level(level), least) if self.whole else None

    def smallest_of_a_size(self, level: float, least: float = 0.0) -> float | None:
        """The same of a slowdown at one size alone: of the median size."""
        known = [change for change in self.figures if change]
        known.sort(key=lambda change: change.error)
        return known[len(known) // 2].smallest(self.size_level(level), least) if known else None


def path_change(
    sides: Sequence[tuple[Side, Side]], spread: float | None = None, history: Sequence[Side] = ()
) -> PathChange:
    """A path's figures, each with its launches on both sides; `spread`: what launches differ by, if known.

    The change of a launch is the median over the path's sizes, so that what is common to a launch counts
    once, and sizes that vary widely do not hide what the others show. `history`: of each figure, launches in
    the order of time, if there are more than those compared: variances are at least what they tell.
    """
    histories = [*history] or [{}] * len(sides)
    figures = [
        change([*old.values()], [*new.values()], spread, step_variance(_logs(seen.values())))
        for (old, new), seen in zip(sides, histories, strict=True)
    ]
    both = [(old, new) for old, new in sides if old and new]
    if len(both) < 2:
        return PathChange(next((figure for figure in figures if figure), None), figures)
    centres = [_centre(*pair) for pair in both]
    olds, news = (common([pair[at] for pair in both], centres) for at in (0, 1))
    seen_in_both = [seen for pair, seen in zip(sides, histories, strict=True) if all(pair)]
    steps = step_variance(common(seen_in_both, centres))
    within = [variance for pair in both for side in pair if (variance := _within([*side.values()]))]
    # Errors within a launch are each figure's own, so that their median over the sizes has less of them.
    own = middle(sorted(within)) / len(both) if within else None
    least = max(own or 0.0, steps)
    whole = _welch(olds, news, (least, least), spread)
    return PathChange(whole if any(figures) else None, figures)


def common(sides: Sequence[Side], centres: Sequence[float]) -> list[float]:
    """Common part of each launch's figures: the median distance of their logarithms from `centres`.

    Launches that gave less than half as many figures as the fullest one are left out.
    """
    distances: dict[LaunchId, list[float]] = {}
    for side, centre in zip(sides, centres, strict=True):
        for name, launch in side.items():
            distances.setdefault(name, []).append(math.log(launch.median) - centre)
    fullest = max(map(len, distances.values()), default=0)
    return [middle(sorted(found)) for found in distances.values() if 2 * len(found) >= fullest]


def _centre(old: Side, new: Side) -> float:
    """Both sides count alike, however many launches they have."""
    return (_mean(_logs(old.values())) + _mean(_logs(new.values()))) / 2


def change(
    old: Sequence[LaunchMedian], new: Sequence[LaunchMedian], spread: float | None = None, least: float = 0.0
) -> Change | None:
    """The change of one figure; None where nothing tells how sure it is.

    Welch's t test of the launches' logarithms: each side has its own variance, at least that within its
    launches, and `least`. `spread`: the standard deviation between launches, if it is known.
    """
    if not (old and new):
        return None
    if len(old) == len(new) == 1 and None in (old[0].variance, new[0].variance):
        return None
    within = (max(_within(side) or 0.0, least) for side in (old, new))
    return _welch(_logs(old), _logs(new), (next(within), next(within)), spread)


def step_variance(logs: Sequence[float]) -> float:
    """The variance of values in the order of time, from the mean step between neighbours; 0 of too few.

    For normal noise the mean step is 2 / sqrt(pi) standard deviations. The largest one is left out, so that
    neither a drift nor a change once and for all raises it.
    """
    if len(logs) < _FEWEST_FOR_STEPS:
        return 0.0
    steps = sorted(abs(later - earlier) for earlier, later in pairwise(logs))
    return math.pi / 4 * _mean(steps[:-1]) ** 2


def _welch(
    old: Sequence[float], new: Sequence[float], within: tuple[float, float], spread: float | None
) -> Change:
    """From logarithms of seconds; `within`: the variance of one of them that is known, at least."""
    counts = len(old), len(new)
    difference = _mean(new) - _mean(old)
    floors = [max(known, MIN_SPREAD**2) for known in within]
    least = max(floors)
    seen = [
        (max(_variance(side), floor), len(side) - 1)
        for side, floor in zip((old, new), floors, strict=True)
        if len(side) > 1
    ]
    if spread is not None:
        freedom = sum(count for _, count in seen)
        given = spread**2 + least
        if not freedom or sum(variance * count for variance, count in seen) <= given * freedom:
            return Change(difference, math.sqrt(given * (1 / counts[0] + 1 / counts[1])), KNOWN, counts)
    if not seen:
        variance = UNSEEN_SPREAD**2 + least
        return Change(difference, math.sqrt(2 * variance), UNSEEN_FREEDOM, counts)
    if len(seen) == 1:
        # Held against the spread of the other side, of whose tail few launches tell little.
        variance, half = max(seen[0][0], least), max(seen[0][1] / 2, 1.0)
        return Change(difference, math.sqrt(variance * (1 / counts[0] + 1 / counts[1])), half, counts)
    parts = [(variance / (freedom + 1), freedom) for variance, freedom in seen]
    error = sum(part for part, _ in parts)
    squares = sum(part**2 / freedom for part, freedom in parts)
    degrees = error**2 / squares
    if counts[0] != counts[1]:
        # Welch's test is too sure where few launches agree by chance: the other side's spread counts too.
        pooled = sum(variance * count for variance, count in seen) / (sum(counts) - 2)
        error = max(error, pooled * (1 / counts[0] + 1 / counts[1]))
        degrees = degrees if min(counts) > 2 else 1.0
    return Change(difference, math.sqrt(error), degrees, counts)


def _logs(side: Iterable[LaunchMedian]) -> list[float]:
    return [math.log(launch.median) for launch in side]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _within(side: Sequence[LaunchMedian]) -> float | None:
    """The mean variance within a launch, of those that have one."""
    known = [variance for launch in side if (variance := launch.variance) is not None]
    return _mean(known) if known else None


def convincing(p_values: Sequence[float], false_alarms: float = FALSE_ALARMS) -> list[bool]:
    """Real changes of many that are looked at together, by Benjamini and Hochberg (1995).

    Where nothing has changed, anything at all is named in at most `false_alarms` of the cases; where
    something has, at most this share of what is named is wrong. It holds for changes that go together, as
    those of one launch do (Benjamini and Yekutieli 2001).
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    last = 0
    for rank, index in enumerate(order, 1):
        if p_values[index] <= false_alarms * rank / len(order):
            last = rank
    chosen = set(order[:last])
    return [index in chosen for index in range(len(p_values))]


def student_tail(t: float, freedom: float) -> float:
    """P(|T| >= t) for Student's t: the regularised incomplete beta function of (freedom / 2, 1 / 2)."""
    if t <= 0:
        return 1.0
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def student_point(tail: float, freedom: float) -> float:
    """The t with P(|T| >= t) = `tail`, by halving."""
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > tail:
        low, high = high, high * 2
    for _ in range(60):
        half = (low + high) / 2
        low, high = (half, high) if student_tail(half, freedom) > tail else (low, half)
    return (low + high) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b) by its continued fraction: DLMF 8.17.22, https://dlmf.nist.gov/8.17#v, from the front on."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    logs = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    # Convergents p / q of 1 / (1 + d1 / (1 + d2 / ...)), scaled each time so that q is 1.
    p_before, p, q_before, seen = 0.0, 1.0, 1.0, 0.0
    for m in range(1, 1000):
        half = m // 2
        if m % 2:
            d = -(a + half) * (a + b + half) * x / ((a + m - 1) * (a + m))
        else:
            d = half * (b - half) * x / ((a + m - 1) * (a + m))
        p_next, q_next = p + d * p_before, 1 + d * q_before
        p_before, p, q_before = p / q_next, p_next / q_next, 1 / q_next
        if abs(p - seen) <= 1e-15 * abs(p):
            break
        seen = p
    return math.exp(logs) / a * p


def simes(p_values: Sequence[float]) -> float:
    """One p value for 'any of these' (Simes 1986, doi:10.1093/biomet/73.3.751); 1 of none."""
    count = len(p_values)
    return min(1.0, *(p * count / rank for rank, p in enumerate(sorted(p_values), 1))) if count else 1.0


@lru_cache(maxsize=1 << 16)
def found_at(level: float, freedom: float) -> float:
    """The true change over its standard error that is significant at `level` in POWER of cases.

    The power of Student's t, P(|Z + distance| > t * u), is averaged over u, the estimated over the true
    error, by the midpoint rule on its distribution function's grid (u^2 is chi squared over `freedom`).
    """
    point = student_point(level, freedom)
    if freedom >= 1e4:
        return point + _normal_point(1 - POWER)
    shares = _chi_grid(freedom)

    def power(distance: float) -> float:
        return math.fsum(weight * _above(point * u - distance) for u, weight in shares)

    low, high = 0.0, 1.0
    while power(high) < POWER:
        low, high = high, high * 2
    for _ in range(25):
        half = (low + high) / 2
        low, high = (half, high) if power(half) < POWER else (low, half)
    return (low + high) / 2


def _chi_grid(freedom: float, steps: int = 250) -> list[tuple[float, float]]:
    """Values of sqrt(chi squared / freedom), evenly spaced on the logarithmic scale, with their weights."""
    grid = []
    for step in range(steps):
        log_u = -12.0 + (step + 0.5) * 14.0 / steps
        # The density of u times u: the constant goes by what all weights add up to.
        log_weight = freedom * (log_u - math.exp(2 * log_u) / 2)
        grid.append((math.exp(log_u), log_weight))
    most = max(weight for _, weight in grid)
    weights = [math.exp(weight - most) for _, weight in grid]
    total = math.fsum(weights)
    return [(u, weight / total) for (u, _), weight in zip(grid, weights, strict=True)]


def _above(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def _normal_point(tail: float) -> float:
    """The z with P(Z >= z) = `tail`."""
    return student_point(2 * tail, KNOWN)


def bounded_exp(x: float) -> float:
    """The exponential function; never too large for a float."""
    return math.exp(min(x, 700.0))
