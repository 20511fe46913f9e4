"""A bound on the whole command (--within): when its measuring ends, and by how much it was missed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

from wirespeed.errors import WirespeedError
from wirespeed.units import time_word

PRINT_S = 0.5
"""Seconds of the command after its last process: its table."""
ENDING_S = 0.6
"""Seconds in which ranks that have measured come to their end."""
START_S = 1.5
"""Seconds until ranks have met, as long as this run has not shown how long that takes here."""
PATH_S = 0.7
"""Seconds that a path gets at least, beside the start of its processes."""
LEAST_S = START_S + PATH_S
"""Seconds in which processes start and measure something."""
AGAIN = 0.25
"""What had no time is measured after all where at least this share of it is left: less would rather make the
command late than give a figure."""
SLACK, SLACK_S = 0.1, 1.0
"""A bound that is missed by no more than this share of it, or by so many seconds, is held."""


@dataclass
class Overrun:
    """What took longest beyond its time."""

    seconds: float = 0.0
    why: str = ""


@dataclass(frozen=True)
class Bound:
    """Time of one command, or the part of it that one of its plans has."""

    seconds: float
    """As the user gave them, for the whole command."""
    began: float
    """When its process began, by the monotonic clock."""
    end: float
    """When measuring is to be over, by the same clock."""
    overrun: Overrun = field(default_factory=Overrun)
    """One for all parts."""

    @classmethod
    def of(cls, seconds: float, began: float) -> Bound | None:
        """Of a command that began then; None of 0 seconds. Raises WirespeedError where no ranks start in the
        time."""
        if not seconds:
            return None
        least = time.monotonic() - began + LEAST_S + ENDING_S + PRINT_S
        if seconds < least:
            raise WirespeedError(
                f"--within {time_word(seconds)}: starting ranks, measuring and printing take "
                f"{least:.1f} s; write {time_word(math.ceil(least))} or more, or 0 for no bound"
            )
        return cls(seconds, began, began + seconds - PRINT_S)

    @classmethod
    def from_now(cls, seconds: float) -> Bound | None:
        """Of one of several measurements, which does not include the start of the command."""
        now = time.monotonic()
        return cls(seconds, now, now + seconds) if seconds else None

    def __str__(self) -> str:
        return f"--within {time_word(self.seconds)}"

    @property
    def left(self) -> float:
        """Seconds in which something can be measured."""
        return self.end - ENDING_S - time.monotonic()

    def for_what_had_none(self, start_s: float = START_S) -> float:
        """Seconds that are left to measure what had no time so far; 0: too few.

        `start_s`: seconds that processes take until they have met.
        """
        left = self.left
        return left if left > max(AGAIN * self.seconds, 2 * (start_s + PATH_S)) else 0.0

    def part(self, coming: float, least: float = LEAST_S) -> Bound:
        """Of the next one of so many plans that share what is left: so many seconds, at least."""
        share = max(self.left / coming, least) + ENDING_S
        return replace(self, end=min(self.end, time.monotonic() + share))

    def late(self, seconds: float, why: str) -> None:
        """Something went on for so long after its time."""
        if seconds > self.overrun.seconds:
            self.overrun.seconds, self.overrun.why = seconds, why

    def missed(self) -> str | None:
        """By how much the command has missed its bound, and why; None: it holds."""
        over = time.monotonic() - self.began - self.seconds
        if over <= max(SLACK * self.seconds, SLACK_S):
            return None
        why = self.overrun.why or "this machine is busy, so starting and printing took longer"
        return f"{self} was missed by {over:.1f} s: {why}"
