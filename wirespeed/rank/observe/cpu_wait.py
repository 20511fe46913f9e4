"""Waits of this rank for a CPU while it was timed, by the kernel's scheduler, and who had the CPU."""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wirespeed.host.cgroup import throttled_s
from wirespeed.host.process import host_name
from wirespeed.job.records import Cores
from wirespeed.rank.world import World

TOLD = 0.02
"""Who had the CPU is told from this share on."""
FULL = 0.8
"""A waiting rank's CPUs that are less in use were not all taken: the kernel had put too much on one."""
_USED = (0, 1, 2, 5, 6)
"""Columns of /proc/stat: user, nice, system, irq, softirq (proc_stat(5)); stolen time is nobody's."""


class CpuWait:
    """Time in which this thread was ready to run and had no CPU, as a share of the time inside timed()."""

    alone = False
    """Are this process's other threads on other CPUs?"""

    def __init__(self) -> None:
        self._waited = self._wall = self._threads = self._throttled = 0.0
        self._preempted = 0
        self._cpus = frozenset(os.sched_getaffinity(0))
        self._began = _Moment.now(self._cpus)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Around timed iterations, on the thread that runs them."""
        throttled = throttled_s()
        began, waited, preempted, threads = time.monotonic(), _waited(), _preempted(), _other_threads()
        yield
        self._threads += _other_threads() - threads
        self._wall += time.monotonic() - began
        self._waited += _waited() - waited
        self._preempted += _preempted() - preempted
        self._throttled += throttled_s() - throttled

    @property
    def share(self) -> float | None:
        """Share of the time inside timed(); None where the kernel does not count."""
        # The kernel's clock and ours are read at slightly different moments.
        return None if math.isnan(self._waited) else min(self._waited / max(self._wall, 1e-9), 1.0)

    def worst(self, comm: World) -> Cores:
        """Collective. Share, number and preemptions of the rank that waited most, and who had its CPU."""
        share = -1.0 if self.share is None else self.share
        most = comm.maximum(share)
        found = comm.first(self._preempted if share == most else None)
        assert found
        uses = comm.everyone(self._use()) if most >= TOLD else None
        by = whose(uses, found[0], most) if uses else None
        return Cores(waited=None if most < 0 else most, rank=found[0], preempted=found[1], by=by)

    def _use(self) -> Use:
        now = _Moment.now(self._cpus)
        seconds = max(now.clock - self._began.clock, 1e-9)
        return Use(
            host_name(),
            sorted(self._cpus),
            (now.thread - self._began.thread if self.alone else now.process - self._began.process) / seconds,
            0.0 if self.alone else self._threads / max(self._wall, 1e-9),
            (now.busy - self._began.busy) / seconds,
            self._throttled / max(self._wall, 1e-9),
        )


class Use(NamedTuple):
    """A rank's use of CPUs, in CPUs."""

    host: str
    cpus: list[int]
    """CPUs on which it may run."""
    process: float
    """Its own use of them, all threads together."""
    threads: float
    """Part of it by threads beside the one that is timed, while it is timed."""
    busy: float
    """The use of its CPUs, by whomever; NaN: not known."""
    throttled: float = 0.0
    """CPUs that its control group lacked while it was stopped for having used up its quota."""


def whose(uses: Sequence[Sequence[Any]], rank: int, waited: float) -> str | None:
    """Who ran on a rank's CPUs while it waited: others, threads (its own) or ranks, and of several who ran
    most; quota: nobody needed to, its control group was stopped; None: not known.
    """
    every = [Use(*use) for use in uses]
    mine = every[rank]
    if mine.throttled >= waited / 2:
        return "quota"
    ranks = sum(
        use.process
        for number, use in enumerate(every)
        if number != rank and use.host == mine.host and {*use.cpus} & {*mine.cpus}
    )
    others = mine.busy - mine.process - ranks if mine.busy >= FULL * len(mine.cpus) else 0.0
    if others >= waited / 2:
        return "others"
    known = {"threads": mine.threads, "ranks": ranks, "others": others}
    most = max(known, key=lambda name: known[name])
    # Three who take turns have a third each, and each waits for two.
    return most if known[most] >= waited / 3 else None


@dataclass(frozen=True)
class _Moment:
    clock: float
    process: float
    """CPU seconds of this process."""
    thread: float
    """CPU seconds of this thread."""
    busy: float
    """CPU seconds of all processes on some CPUs."""

    @classmethod
    def now(cls, cpus: frozenset[int]) -> _Moment:
        return cls(time.monotonic(), time.process_time(), time.thread_time(), _busy(cpus))


def _busy(cpus: frozenset[int]) -> float:
    """NaN where the kernel does not say."""
    names = {f"cpu{number}".encode() for number in cpus}
    with suppress(OSError, ValueError, IndexError), Path("/proc/stat").open("rb") as file:
        ticks, seen = 0, 0
        for line in file:
            name, *words = line.split()
            if not name.startswith(b"cpu"):
                break
            if name in names:
                ticks += sum(int(words[at]) for at in _USED)
                seen += 1
        if seen == len(names):
            return ticks / os.sysconf("SC_CLK_TCK")
    return math.nan


def _other_threads() -> float:
    """CPU seconds of this process's other threads."""
    return time.process_time() - time.thread_time()


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
