"""Which timed batches are checked: as many as a tenth of the time allows, and the last one."""

from __future__ import annotations

CHECK_SHARE = 0.1
"""Limit of the time for checks, as a share of all time spent on the phase."""


class CheckBudget:
    """Seconds that checks of one phase have taken, the first one before its samples."""

    def __init__(self, first_s: float) -> None:
        """`first_s`: what the check before the samples took; a batch's first one should take as long."""
        self._first_s = self._spent_s = self._latest_s = first_s

    def add(self, seconds: float) -> None:
        """A batch's check took so long."""
        self._spent_s += seconds
        self._latest_s = seconds

    def allows(self, elapsed_s: float) -> bool:
        """Is there time to check the next batch? `elapsed_s`: from the first batch's begin to its end."""
        return self._spent_s + self._latest_s <= CHECK_SHARE * (elapsed_s + self._first_s)
