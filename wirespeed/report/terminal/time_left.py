"""How long a run still takes, from what its sizes and its job steps have taken so far."""

from __future__ import annotations

import time
from collections.abc import Callable

from wirespeed.job.messages import Message
from wirespeed.report.facts.figures import duration

Clock = Callable[[], float]


class TimeLeft:
    """Takes what a run tells of its progress.

    A job step takes time of its own, to start its ranks and to count bytes. So the sizes to come are expected
    to take as long as those before on average, and the steps to come likewise.
    """

    def __init__(self, sizes: int, clock: Clock = time.monotonic) -> None:
        """`sizes`: how many each step measures."""
        self._clock, self._sizes = clock, max(1, sizes)
        self._start: float | None = None
        self._begun, self._steps = 0, 1
        self._launch, self._launches = 1, 1
        self._left_here = 0
        """Sizes that the current step has still to measure."""
        self._size_start: float | None = None
        self._measuring, self._measured = 0.0, 0
        """Seconds spent on sizes, and how many sizes that were."""

    def begin(self) -> None:
        """The first event is here; further calls do nothing."""
        if self._start is None:
            self._start = self._clock()

    def step(self, event: Message) -> None:
        """A job step begins: a "step-start" event."""
        self._begun, self._steps = int(event["steps_done"]) + 1, int(event["steps_total"])
        self._launch, self._launches = int(event.get("launch", 1)), int(event.get("launches", 1))
        self._left_here, self._size_start = self._sizes, None

    def size(self, event: Message) -> None:
        """A size begins or goes on: a "progress" event."""
        self._left_here = int(event["of"]) - int(event["index"])
        if self._size_start is None:
            self._size_start = self._clock()

    def size_done(self) -> None:
        """A size has its figure, or has failed."""
        if self._size_start is not None:
            self._measuring += self._clock() - self._size_start
            self._measured += 1
            self._left_here -= 1
            self._size_start = None

    def step_failed(self) -> None:
        """What the current step has not measured, it will not measure."""
        self._left_here, self._size_start = 0, None

    @property
    def elapsed(self) -> float:
        """Seconds since the first event."""
        return 0.0 if self._start is None else self._clock() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds; None before the first figure."""
        if not self._measured:
            return None
        to_come = max(0, self._steps - self._begun)
        a_size = self._measuring / self._measured
        a_step = max(0.0, self.elapsed - self._measuring) / max(1, self._begun)
        return a_size * (max(0, self._left_here) + to_come * self._sizes) + a_step * to_come

    def __str__(self) -> str:
        """'path 3 of 9, 0:12 so far, about 0:40 left'."""
        several = self._launches > 1
        step = f"{self._begun} of {self._steps}"
        place = f"launch {self._launch} of {self._launches}, step {step}" if several else f"path {step}"
        parts = [place if self._begun else "", f"{duration(self.elapsed)} so far"]
        if (left := self.remaining) is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(filter(None, parts))
