"""How long a run still takes, from what its sizes and its job steps have taken so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from wirespeed.job.messages import Message
from wirespeed.report.facts.figures import duration

Clock = Callable[[], float]


HEAVY = 64 << 20
"""Bytes of a message that takes as long again as an empty one: small sizes take the time to be precise."""


class TimeLeft:
    """Takes what a run tells of its progress.

    A job step takes time of its own, to start its ranks and to count bytes. So the sizes to come are expected
    to take as long as those before, by their weights, and the steps to come likewise.
    """

    def __init__(self, sizes: Sequence[int], clock: Clock = time.monotonic) -> None:
        """`sizes`: bytes of the messages that each step measures."""
        self._clock, self._sizes = clock, sizes
        self._whole = sum(map(_weight, sizes))
        self._start: float | None = None
        self._begun, self._steps = 0, 1
        self._launch, self._launches = 1, 1
        self._left_here = 0.0
        """Weight of the sizes that the current step has still to measure."""
        self._since: float | None = None
        """When the sizes under way began."""
        self._measuring, self._measured = 0.0, 0.0
        """Seconds spent on sizes, and the weight of those sizes."""

    def begin(self) -> None:
        """The first event is here; further calls do nothing."""
        if self._start is None:
            self._start = self._clock()

    def step(self, event: Message) -> None:
        """A job step begins: a "step-start" event."""
        self._begun, self._steps = int(event["steps_done"]) + 1, int(event["steps_total"])
        self._launch, self._launches = int(event.get("launch", 1)), int(event.get("launches", 1))
        self._left_here, self._since = self._whole, None

    def size(self, event: Message) -> None:
        """A size begins or goes on: a "progress" event."""
        # With --resume a step measures fewer; their order is the same, and the last ones are left.
        if self._since is None:
            known = (
                self._sizes
                if int(event["bytes"]) in self._sizes
                else [int(event["bytes"])] * int(event["of"])
            )
            self._left_here = sum(map(_weight, known[-int(event["of"]) :]))
            self._since = self._clock()

    def size_done(self, size: int) -> None:
        """A size of so many bytes has its figure, or has failed."""
        if self._since is not None:
            now = self._clock()
            self._measuring, self._since = self._measuring + now - self._since, now
            self._measured += _weight(size)
            self._left_here -= _weight(size)

    def step_failed(self) -> None:
        """Takes note that the current step will not measure what it has not measured."""
        self._left_here, self._since = 0.0, None

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
        a_weight = self._measuring / self._measured
        a_step = max(0.0, self.elapsed - self._measuring) / max(1, self._begun)
        return a_weight * (max(0.0, self._left_here) + to_come * self._whole) + a_step * to_come

    def __str__(self) -> str:
        """'path 3 of 9, 0:12 so far, about 0:40 left'."""
        several = self._launches > 1
        step = f"{self._begun} of {self._steps}"
        place = f"launch {self._launch} of {self._launches}, step {step}" if several else f"path {step}"
        parts = [place if self._begun else "", f"{duration(self.elapsed)} so far"]
        if (left := self.remaining) is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(filter(None, parts))


def _weight(size: int) -> float:
    return 1 + size / HEAVY
