"""Whether others took this machine's time while a test ran: then a claim about time says nothing."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

MOST_TAKEN = 0.05
"""Share of the cores' time that others may take."""
MOST_UNEVEN = 1.25
"""A loop that spins alone takes the same time again and again, within so much."""
_SPINS, _SPIN = 200, 20_000


class Load:
    """What others take of the cores' time, from when this is made."""

    def __init__(self) -> None:
        self._began, self._spent, self._ours = time.monotonic(), _spent(), _ours()

    def claim(self, holds: bool, what: object) -> None:
        """Fails with `what` unless it holds; where it does not on a busy machine, skips and says so.

        All that was measured has ended by then: only processes waited for are known to be the test's own.
        """
        if holds:
            return
        if why := self._busy():
            pytest.skip(f"the machine is busy ({why}), and a claim about time needs it alone: {what}")
        raise AssertionError(what)

    def _busy(self) -> str | None:
        cores = len(os.sched_getaffinity(0))
        others = _spent() - self._spent - (_ours() - self._ours)
        taken = others / cores / max(time.monotonic() - self._began, 0.1)
        if taken > MOST_TAKEN:
            return f"others took {taken:.0%} of the cores' time"
        # Whoever hands out this machine's cores may take them away without telling its kernel.
        uneven = _uneven()
        return f"a loop takes {uneven:.2f} times as long as at best" if uneven > MOST_UNEVEN else None


def _spent() -> float:
    """Seconds that the cores we may use have worked for anybody, or were taken away."""
    mine = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in mine:
            user, nice, system, _idle, _wait, hard, soft, stolen, *_ = map(int, fields)
            ticks += user + nice + system + hard + soft + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def _ours() -> float:
    """Seconds that this process and those it has waited for have worked."""
    each = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in each)


def _uneven() -> float:
    """How many times as long a spinning loop takes on average as at best."""
    seconds = []
    for _ in range(_SPINS):
        began = time.perf_counter()
        for _ in range(_SPIN):
            pass
        seconds.append(time.perf_counter() - began)
    return sum(seconds) / len(seconds) / min(seconds)
