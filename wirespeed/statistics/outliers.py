"""What stands out of many alike: distances from the median, judged by how the bulk of them scatters.

For users: docs/fleet.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.statistics.comparison import student_point, student_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 5
"""Among fewer none can be said to stand out."""
NORMAL_75 = 0.6744897501960817
_NORMAL_99 = 2.3263478740408408
_EFFICIENCY = 0.37
"""A scale from the median absolute deviation is as sure as one from this share of the values by squares
(Rousseeuw and Croux 1993, doi:10.1080/01621459.1993.10476408)."""
_ENOUGH_FOR_TAIL = 500
"""From so many on the fast tail has five values or more below its 1 % point."""


@dataclass(frozen=True)
class Excess:
    """How much longer each takes than the median one, with what is needed to say how sure that is."""

    effects: Floats
    """Natural logarithms of the ratios to the median."""
    errors: Floats
    """What those alike differ by: the spread of the bulk and the error of each; a standard deviation."""
    freedom: float
    """Degrees of freedom of the errors."""

    def p_values(self, least: float) -> Floats:
        """How often one of the bulk is seen as slow as this, if it were slower by the ratio `least`."""
        with np.errstate(invalid="ignore"):
            distance = (self.effects - np.log1p(least)) / self.errors
        p_values: Floats = np.ones(len(distance))
        for place in np.flatnonzero(distance > 0).tolist():
            p_values[place] = student_tail(float(distance[place]), self.freedom) / 2
        return p_values

    def interval(self, place: int, confidence: float = 0.95) -> tuple[float, float]:
        """Ends of the interval of one's ratio."""
        half = student_point(1 - confidence, self.freedom) * float(self.errors[place])
        low, high = np.exp(np.clip(self.effects[place] + np.array([-half, half]), -700, 700))
        return float(low), float(high)


def bulk_scale(values: Floats) -> float:
    """Standard deviation of the bulk: the median absolute deviation, as for normal noise."""
    return float(np.median(np.abs(values - np.median(values)))) / NORMAL_75


def excess(effects: Floats, errors: Floats) -> Excess | None:
    """Of values that are alike but for a few, each with a standard error; None among fewer than FEWEST.

    The spread between those alike is taken from the values themselves (an empirical null, Efron 2004,
    doi:10.1198/016214504000000089): the one with which half of them lie within 0.67 standard deviations.
    Nothing broken makes anyone fast, so where the fast tail is longer than a normal one, all errors grow.
    """
    usable = np.isfinite(effects) & np.isfinite(errors)
    if usable.sum() < FEWEST:
        return None
    effects = effects - np.median(effects[usable])
    squares, own = effects[usable] ** 2, errors[usable] ** 2
    low, high = 0.0, float(np.max(squares)) + 1e-18
    for _ in range(60):
        spread = (low + high) / 2
        wide = np.median(squares / (own + spread + 1e-30)) > NORMAL_75**2
        low, high = (spread, high) if wide else (low, spread)
    whole = np.sqrt(np.where(usable, errors**2 + high, np.inf))
    count = int(usable.sum())
    if count >= _ENOUGH_FOR_TAIL:
        fast = float(np.quantile((effects / whole)[usable], 0.01))
        whole = whole * max(1.0, -fast / _NORMAL_99)
    return Excess(effects, whole, max(2.0, _EFFICIENCY * (count - 1)))


def simes(p_values: Sequence[float], count: int) -> float:
    """One p value for 'any of these `count`', those not given being 1: doi:10.1093/biomet/73.3.751."""
    return min(1.0, *(p * count / rank for rank, p in enumerate(sorted(p_values), 1)))
