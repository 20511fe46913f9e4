"""Student's t and what is made of many p values. Pure Python with nothing but the standard library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

COMPARED_ALARMS = 0.05
"""Share of comparisons of equal sides that name anything, at most."""
LOOK_ALARMS = 0.01
"""The same of a watch's looks at all figures, one by one."""
FLEET_ALARMS = 0.01
"""Share of a fleet's named subjects that are named by chance, at most."""
BOUND_ALARMS = 0.01
"""Share of a healthy machine's launches, or pairs of them, that break any bound."""
ONE_BOUND_ALARMS = 0.001
"""The same of one bound, at least: of many, fewer would find too little."""
POWER = 0.9
"""The smallest change that is told of is found in so many cases."""
KNOWN = 1e6
"""Degrees of freedom of a spread that is known."""
NORMAL_90, NORMAL_95, NORMAL_975 = 1.2815515655446004, 1.6448536269514722, 1.959963984540054


def convincing(
    p_values: Sequence[float], false_alarms: float = COMPARED_ALARMS, count: int = 0
) -> list[bool]:
    """Real changes of many that are looked at together, by Benjamini and Hochberg (1995).

    `count`: of so many, those not given being 1.

    Where nothing has changed, anything at all is named in at most `false_alarms` of the cases; where
    something has, at most this share of what is named is wrong. It holds for changes that go together, as
    those of one launch do (Benjamini and Yekutieli 2001).
    """
    step, ordered = false_alarms / max(count, len(p_values), 1), sorted(p_values)
    most = max((p for rank, p in enumerate(ordered, 1) if p <= step * rank), default=-1.0)
    return [p <= most for p in p_values]


def student_tail(t: float, freedom: float) -> float:
    """P(|T| >= t) for Student's t: the regularised incomplete beta function of (freedom / 2, 1 / 2)."""
    if t <= 0:
        return 1.0
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


@lru_cache(maxsize=1 << 12)
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


def simes(p_values: Sequence[float], count: int = 0) -> float:
    """One p value for 'any of these' (Simes 1986, doi:10.1093/biomet/73.3.751); 1 of none.

    `count`: of so many, those not given being 1.
    """
    count = count or len(p_values)
    return min(1.0, *(p * count / rank for rank, p in enumerate(sorted(p_values), 1))) if count else 1.0


def found_at(level: float, freedom: float) -> float:
    """The true change over its standard error that is significant at `level` in POWER of cases.

    Of the noncentral t distribution, to 1.2 % (Abramowitz and Stegun 26.7.10).
    """
    point = student_point(level, freedom)
    return point * (1 - 1 / (4 * freedom)) + NORMAL_90 * math.hypot(1, point / math.sqrt(2 * freedom))


def bounded_exp(x: float) -> float:
    """The exponential function; never too large for a float."""
    return math.exp(min(x, 700.0))
