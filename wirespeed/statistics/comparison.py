"""Is one figure really slower than another? Launches on both sides, their spread, and many sizes at once.

Pure Python with nothing but the standard library. For users: docs/comparing.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from wirespeed.statistics.samples import middle

SPREAD = 0.01
"""What launches of the same thing differ by, as a standard deviation, before any were seen.

Measured: the middle one of 48 figures that several launches gave on two H200s, results/h200-x2-*.jsonl.
"""
BELIEF = 3.0
"""So many degrees of freedom that assumption counts as: a few real launches soon outweigh it."""
FALSE_ALARMS = 0.05
"""The most that may be named as changed where nothing has."""
FEWEST_FOR_ROUGHNESS = 5
"""Fewer figures side by side say nothing of how they scatter."""
SAYS_NOTHING = 100.0
"""Bounds further away than this factor are none."""
_NORMAL_975 = 1.959963984540054
_NORMAL_75 = 0.6744897501960817


@dataclass(frozen=True)
class Launch:
    """What one launch measured: its median and the ends of that median's 95 % interval, in seconds."""

    median: float
    low: float | None
    high: float | None

    @property
    def variance(self) -> float | None:
        """Of the median's logarithm, as far as this launch alone can tell; None without an interval."""
        if not self.low or not self.high:
            return None
        return (math.log(self.high / self.low) / 2 / _NORMAL_975) ** 2


@dataclass(frozen=True)
class Change:
    """How many times longer it takes, with what is needed to say how sure that is."""

    log_ratio: float
    error: float
    """Standard error of `log_ratio`."""
    freedom: float
    """Degrees of freedom of that error."""
    launches: tuple[int, int]

    @property
    def ratio(self) -> float:
        """New time over old time."""
        return math.exp(self.log_ratio)

    @property
    def p(self) -> float:
        """How often so large a change is seen where there is none."""
        if not self.log_ratio:
            return 1.0
        return student_tail(abs(self.log_ratio) / self.error, self.freedom) if self.error else 0.0

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Of the ratio."""
        half = student_point(1 - confidence, self.freedom) * self.error
        return _exp(self.log_ratio - half), _exp(self.log_ratio + half)

    def rougher(self, factor: float) -> Change:
        """The same with an error so many times as large."""
        return Change(self.log_ratio, self.error * factor, self.freedom, self.launches)


def change(old: Sequence[Launch], new: Sequence[Launch], spread: float = SPREAD) -> Change | None:
    """From the launches of both sides; None where nothing tells how sure a figure is.

    The logarithms of the launches' medians are compared by Student's t. Their variance is what they show
    among themselves, drawn towards what is expected of one launch: the variance within it plus `spread`
    squared (a moderated t, as in Smyth 2004, doi:10.2202/1544-6115.1027). With one launch a side the
    expectation is all there is; the more the launches contradict it, the less it counts.
    """
    alone = len(old) == len(new) == 1
    if not (old and new) or (alone and None in (old[0].variance, new[0].variance)):
        return None
    freedom, deviation = _moderated(old, new, spread)
    error = deviation * math.sqrt(1 / len(old) + 1 / len(new))
    return Change(_logs(new)[1] - _logs(old)[1], error, freedom, (len(old), len(new)))


def _moderated(one: Sequence[Launch], other: Sequence[Launch], spread: float) -> tuple[float, float]:
    """Degrees of freedom, and the standard deviation between launches of one side; `other` may be empty."""
    sides = [side for side in (one, other) if side]
    freedom = sum(len(side) - 1 for side in sides)
    expected, squares = _expected(one, other, spread), _squares(*sides)
    belief = BELIEF * (min(1.0, freedom * expected / squares) if freedom and squares else 1.0)
    return belief + freedom, math.sqrt((belief * expected + squares) / (belief + freedom))


def unrest(pairs: Sequence[tuple[Sequence[Launch], Sequence[Launch]]], spread: float = SPREAD) -> float:
    """How many times further than expected the launches of a curve's figures lie apart; at least 1.

    The middle one of the figures speaks for all: what is expected of each may be multiplied by it.
    """
    ratios = []
    for old, new in pairs:
        freedom = len(old) + len(new) - 2
        if old and new and freedom > 0:
            # The median of chi squared over its degrees of freedom: Wilson and Hilferty 1931.
            usual = (1 - 2 / (9 * freedom)) ** 3
            ratios.append(_squares(old, new) / freedom / _expected(old, new, spread) / usual)
    if len(ratios) < FEWEST_FOR_ROUGHNESS:
        return 1.0
    return math.sqrt(max(1.0, middle(sorted(ratios))))


def _logs(side: Sequence[Launch]) -> tuple[list[float], float]:
    logs = [math.log(launch.median) for launch in side]
    return logs, math.fsum(logs) / len(logs)


def _squares(*sides: Sequence[Launch]) -> float:
    """Of the distances between each launch and the middle of its side."""
    return math.fsum((x - centre) ** 2 for logs, centre in map(_logs, sides) for x in logs)


def _expected(old: Sequence[Launch], new: Sequence[Launch], spread: float) -> float:
    """Variance of one launch's logarithm: what it knows of itself, and what launches differ by."""
    known = [variance for launch in (*old, *new) if (variance := launch.variance) is not None]
    return spread**2 + (math.fsum(known) / len(known) if known else 0.0)


def roughness(changes: Sequence[Change]) -> float:
    """How much more neighbouring sizes disagree about the change than their errors allow; at least 1.

    Neighbours share what is true of both, a slower wire for example, so that their difference shows the
    noise alone: its middle size, over that of a normal distribution.
    """
    steps = [
        abs(a.log_ratio - b.log_ratio) / math.hypot(a.error, b.error)
        for a, b in pairwise(changes)
        if a.error or b.error
    ]
    if len(steps) < FEWEST_FOR_ROUGHNESS - 1:
        return 1.0
    return max(1.0, middle(sorted(steps)) / _NORMAL_75)


def convincing(p_values: Sequence[float], false_alarms: float = FALSE_ALARMS) -> list[bool]:
    """Which of many changes looked at together are real, by Benjamini and Hochberg (1995).

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


def next_launch(
    launches: Sequence[Launch], confidence: float, spread: float = SPREAD
) -> tuple[float, float] | None:
    """Seconds between which the next launch's median is expected, from those seen; never within them.

    None where one launch alone cannot tell how sure it is, or where they say less than a factor of 100.
    """
    logs, centre = _logs(launches)
    if len(launches) == 1 and launches[0].variance is None:
        return None
    freedom, error = _moderated(launches, (), spread)
    half = student_point(1 - confidence, freedom) * error * math.sqrt(1 + 1 / len(launches))
    if half > math.log(SAYS_NOTHING):
        return None
    return _exp(min([centre - half, *logs])), _exp(max([centre + half, *logs]))


def _exp(x: float) -> float:
    """Never too large for a float."""
    return math.exp(min(x, 700.0))
