"""Time in which figures that are far from precise are measured on: all that are to come have equal parts."""

from __future__ import annotations

import time

COARSE = 0.05
"""Figures that are within ± this share need no more time."""


class Allowance:
    """Seconds for several paths or sizes, from now on. What one of them leaves is for those that follow."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def share(self, coming: int) -> float:
        """Seconds of the next one of so many."""
        return max(0.0, self._end - time.monotonic()) / max(coming, 1)
