"""Batches that switch between two speeds: then one interval around one median describes neither."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from wirespeed.statistics.allowance import COARSE
from wirespeed.statistics.samples import median_interval, middle

MOMENTS = 3
"""Each speed was there at so many separate moments, with the other one between them."""
APART = 1.1
"""The slowest batch of the fast ones and the fastest of the slow ones differ by this ratio at least."""


def two_speeds(medians: Sequence[float]) -> tuple[float, float] | None:
    """Seconds of both, the fast one first, each known to ±5 %; None where batches have no two speeds.

    `medians`: of batches, in the order measured, in seconds.
    """
    ascending = sorted(medians)
    if len(ascending) < 2 * MOMENTS or ascending[0] <= 0:
        return None
    gap, between = max((b / a, (a * b) ** 0.5) for a, b in pairwise(ascending))
    if gap < APART:
        return None
    moments = [slow for slow, _ in groupby(medians, lambda median: median > between)]
    if min(moments.count(True), moments.count(False)) < MOMENTS:
        return None
    found = []
    for slow in (False, True):
        of_speed = [median for median in medians if (median > between) == slow]
        centre = middle(sorted(of_speed))
        interval = median_interval(of_speed, centre)
        if interval is None or interval[1] - interval[0] > 2 * COARSE * centre:
            return None
        found.append(centre)
    return found[0], found[1]
