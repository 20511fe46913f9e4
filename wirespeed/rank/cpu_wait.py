"""Whether this rank had a CPU while it was timed, by the kernel's scheduler."""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from wirespeed.rank.world import World


class CpuWait:
    """Time in which this thread was ready to run and had no CPU, as a share of the time inside timed()."""

    def __init__(self) -> None:
        self._waited = self._wall = 0.0
        self._preempted = 0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Around timed iterations, on the thread that runs them."""
        began, waited, preempted = time.monotonic(), _waited(), _preempted()
        yield
        self._wall += time.monotonic() - began
        self._waited += _waited() - waited
        self._preempted += _preempted() - preempted

    @property
    def share(self) -> float | None:
        """Of the time inside timed(); None where the kernel does not count."""
        # The kernel's clock and ours are read at slightly different moments.
        return None if math.isnan(self._waited) else min(self._waited / max(self._wall, 1e-9), 1.0)

    def worst(self, comm: World) -> dict[str, Any]:
        """Collective. Share, number and preemptions of the rank that waited most, on every rank."""
        share = -1.0 if self.share is None else self.share
        most = comm.maximum(share)
        found = comm.first(self._preempted if share == most else None)
        assert found
        return {"waited": None if most < 0 else most, "rank": found[0], "preempted": found[1]}


def _waited() -> float:
    """Seconds that this thread has waited for a CPU; NaN where the kernel does not count them."""
    with suppress(OSError, ValueError, IndexError):
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        try:
            # ns on a CPU, ns ready without one, time slices: the kernel's scheduler/sched-stats.rst.
            return int(os.read(file, 99).split()[1]) * 1e-9
        finally:
            os.close(file)
    return math.nan


def _preempted() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
