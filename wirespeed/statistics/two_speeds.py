"""Batches at two speeds: one interval around one median describes neither."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from wirespeed.statistics.samples import COARSE, median, median_interval

MOMENTS = 3
"""Each speed was there at so many separate moments, with the other one between them."""
APART = 1.1
"""The slowest batch of the fast ones and the fastest of the slow ones differ by this ratio at least."""
SHARE, BETWEEN = 0.2, 0.1
"""Share of the batches that each speed has, at least, and that may lie between the two: a batch in which the
speed changed does."""
WITHIN = 1 / 3
"""The middle half of either speed's batches is this part of the way to the other speed, at most: of one broad
speed that is cut in two, it would be 0.6."""
CHANGES = 2
"""Batches that change their speed so often at most saw less than a period of what slows them."""
ONCE_APART = 1.05
"""APART of those: batches of one speed by chance are not neighbours."""
SHORT = 1_000
"""More batches than these are not measured for less than a period."""
CUTS = 50
"""So many numbers of batches between the two are tried, at most: of a long run, not each one."""


def two_speeds(medians: Sequence[float]) -> tuple[float, float] | None:
    """Seconds of both, the fast one first, each known to ±5 %; None where batches have no two speeds.

    `medians`: of batches, in the order measured, in seconds.
    """
    found = _speeds(medians, APART)
    if found is None or min(found[1].count(True), found[1].count(False)) < MOMENTS:
        return None
    return found[0]


def changed(medians: Sequence[float]) -> tuple[float, float] | None:
    """The same of batches that changed their speed once or twice: the noise is slower than they last."""
    found = _speeds(medians, ONCE_APART) if len(medians) <= SHORT else None
    return found[0] if found and len(found[1]) <= 1 + CHANGES else None


def _speeds(medians: Sequence[float], apart: float) -> tuple[tuple[float, float], list[bool]] | None:
    """Seconds of both speeds, and which one each moment had: was it the slow one?"""
    ascending = sorted(medians)
    if len(ascending) < 2 * MOMENTS or ascending[0] <= 0 or (ends := _ends(ascending, apart)) is None:
        return None
    fast, slow = ends
    of_either = [batch >= slow for batch in medians if not fast < batch < slow]
    sides = [batch for batch in medians if batch <= fast], [batch for batch in medians if batch >= slow]
    centres = [median(side) for side in sides]
    way = math.log(centres[1] / centres[0])
    for side, centre in zip(sides, centres, strict=True):
        interval = median_interval(side, centre)
        known = interval is not None and interval[1] - interval[0] <= 2 * COARSE * centre
        if not known or _middle_half(sorted(side)) > WITHIN * way:
            return None
    return (centres[0], centres[1]), [is_slow for is_slow, _ in groupby(of_either)]


def _ends(ascending: Sequence[float], apart: float) -> tuple[float, float] | None:
    """The slowest of the fast batches and the fastest of the slow ones; as few as can be lie between."""
    count = len(ascending)
    least = max(MOMENTS, math.ceil(SHARE * count))
    most = int(BETWEEN * count)
    for between in range(0, most + 1, 1 + most // CUTS):
        ends = zip(ascending[least - 1 :], ascending[least + between : count - least + 1], strict=False)
        fast, slow = max(ends, key=lambda pair: pair[1] / pair[0], default=(1.0, 1.0))
        if slow >= apart * fast:
            return fast, slow
    return None


def _middle_half(ascending: Sequence[float]) -> float:
    """From the lower quartile to the upper one, on the logarithmic scale."""
    count = len(ascending)
    return math.log(ascending[3 * count // 4] / ascending[count // 4])
