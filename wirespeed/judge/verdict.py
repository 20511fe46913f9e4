"""What a change is called: one rule for groups of sizes and for single sizes."""

from __future__ import annotations

import math

from wirespeed.judge.bounds import WIDE
from wirespeed.judge.model import Change
from wirespeed.judge.spreads import REACH
from wirespeed.statistics.student import bounded_exp

WORSE, BETTER = "worse", "better"
"""More than chance, by what these launches differ by."""
LIKELY_WORSE, LIKELY_BETTER = "likely_worse", "likely_better"
"""Further apart than launches of such paths lie."""
NOT_WORSE, UNSURE = "not_worse", "unsure"
"""Within what launches differ by; too noisy to tell."""
HARMFUL = (WORSE, LIKELY_WORSE)

TO_BE_EXCLUDED = 0.10
"""Slowdown that must be excluded, if it is more than EXCLUDED standard deviations between launches."""
EXCLUDED = 3.0


def verdict(change: Change, is_real: bool, least: float, likely: bool = True) -> str:
    """`is_real`: it is no chance, as all that is judged with it tells. `least`: as a share of the time.

    `likely`: what is further apart than launches of such paths lie is named, too.
    """
    if abs(change.log_ratio) > math.log1p(least):
        if is_real:
            return WORSE if change.log_ratio > 0 else BETTER
        if likely and change.beyond_range:
            return LIKELY_WORSE if change.log_ratio > 0 else LIKELY_BETTER
    return NOT_WORSE if excludes(change, least) or not change.seen else UNSURE


def excludes(change: Change, least: float = 0.0, *, faster: bool = False) -> bool:
    """Is a slowdown excluded that is more than what launches of this path differ by, and than a tenth?

    What takes WIDE times as long excludes none. `faster`: a speedup.
    """
    if not faster and doubtful(change, least):
        return False
    asked = math.log1p(to_be_excluded(change, least))
    if change.seen:
        low, high = map(math.log, change.interval())
    else:
        reach = REACH * change.usual
        low, high = change.log_ratio - reach, change.log_ratio + reach
    return -low <= asked if faster else high <= asked


def doubtful(change: Change, least: float = 0.0) -> bool:
    """Does it take so long that it is no pass, whatever launches differ by?"""
    return change.ratio > max(WIDE, 1 + least)


def to_be_excluded(change: Change, least: float = 0.0) -> float:
    """The slowdown that must be excluded, as a share of the time."""
    spread = change.spread if change.seen else change.usual
    return max(TO_BE_EXCLUDED, least, bounded_exp(EXCLUDED * spread) - 1)
