"""What a change is called: one rule for groups of sizes and for single sizes."""

from __future__ import annotations

import math

from wirespeed.judge.model import Change
from wirespeed.judge.spreads import REACH

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

    `faster`: a speedup.
    """
    spread = change.spread if change.seen else change.usual
    asked = max(math.log1p(max(TO_BE_EXCLUDED, least)), EXCLUDED * spread)
    if change.seen:
        low, high = map(math.log, change.interval())
    else:
        low, high = change.log_ratio - REACH * spread, change.log_ratio + REACH * spread
    return -low <= asked if faster else high <= asked
