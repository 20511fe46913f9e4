"""Signals that end a run: in order, with a valid file and no orphans."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

GRACE_S = 3.0
"""Seconds in which ranks may finish the figures that are under way; long ones take turns for minutes."""


class Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP: the first lets the figures under way be finished, the next ends all."""

    def __init__(self) -> None:
        self.asked = False
        self._finish: Callable[[], None] | None = None

    def under_way(self, finish: Callable[[], None] | None) -> None:
        """`finish`: asks ranks for the figures that they measure now; None: they measure none."""
        self._finish = finish

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Signals raise KeyboardInterrupt, or do so later."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._heed) for number in numbers}
        # A program that calls wirespeed may have an alarm of its own, which is only given up with the run.
        alarm = signal.getsignal(signal.SIGALRM)
        try:
            yield
        finally:
            if self.asked:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                signal.signal(signal.SIGALRM, alarm or signal.SIG_DFL)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _heed(self, number: int, frame: FrameType | None) -> None:
        if self.asked or self._finish is None:
            raise KeyboardInterrupt
        self.asked = True
        signal.signal(signal.SIGALRM, self._heed)
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)
        self._finish()
