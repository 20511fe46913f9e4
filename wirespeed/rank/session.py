"""One rank from its device to its last path: under a front end and inside a launcher alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from wirespeed.host.core import Core
from wirespeed.job.messages import Hello, PathStart, RankPlace
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import startup_limit
from wirespeed.rank.context import Tell
from wirespeed.rank.faults.words import TestWords
from wirespeed.rank.join.apart import look
from wirespeed.rank.join.free_cpus import FreeForThreads
from wirespeed.rank.join.startup import introduced, open_device
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.path.path_run import PathRunner
from wirespeed.rank.world import World

SHORTEST_S, LEAST_S = 0.3, 0.7
"""Seconds without which no path begins, and that one gets at least, as far as they are left."""


class RankSession:
    """Joins one rank with the others and measures path after path. Public methods are collective."""

    comm: World
    runner: PathRunner
    _tell: Tell
    _ranks: tuple[RankPlace, ...]

    def __init__(
        self, opened: Core, plan: Plan, kind: str, watchdog: Watchdog, place: tuple[int, int], began: float
    ) -> None:
        """`place`: the rank, and its number on its host. `began`: time.monotonic() as its work began."""
        self._opened, self.plan, self._kind, self._watchdog = opened, plan, kind, watchdog
        self._began = began
        self.device = open_device(opened, kind, plan, *place)
        self.ranges = TestWords(plan).ranges(opened, place[0])
        now = self.ranges.clock()
        self.ranges.add("start", now - round((time.monotonic() - began) * 1e9), now)

    def connect(self, world: Callable[[], World]) -> World:
        """Joins the ranks; from here on the watchdog watches this one."""
        with self.ranges("connect"):
            self.comm = world()
            self._watchdog.catch()
            self._watchdog.list_uses()
        return self.comm

    def introduce(
        self, tell: Tell, cpus: set[int] | None = None, free: FreeForThreads | None = None
    ) -> tuple[RankPlace, ...]:
        """Who and where each rank is, on rank 0 alone. `cpus`: those to measure on; None: where it is.

        `free`: where threads of libraries go before samples are taken; None: they stay.
        """
        self._tell = tell
        with self.ranges("introduce"):
            apart = look(self.comm)
            self._ranks = introduced(self._opened, self.comm, self.device, self._kind, apart, cpus)
        of_rank = (self._opened, self.comm, self.device, self._watchdog, self.plan)
        self.runner = PathRunner(*of_rank, tell, self.ranges, apart, free)
        return self._ranks

    def met(self) -> None:
        """Tells that all ranks are there, and what they are."""
        self._tell(Hello(self._ranks, self.comm.described() or {}, time.monotonic() - self._began))

    def measure(
        self, paths: Sequence[tuple[str, Sequence[int]]], end: float | None, *, goes_on: bool
    ) -> None:
        """`paths`: names and sizes, the same on all ranks. `end`: of the time for all, by time.monotonic();
        None: they have no bound. Paths for which no time is left do not begin.

        `goes_on`: whether this process does anything else after its last path.
        """
        for index, (path, sizes) in enumerate(paths):
            now = time.monotonic()
            if index and self.comm.share(end is not None and end - now < SHORTEST_S):
                break
            self.runner.make_way(path, orderly=goes_on)
            # What became of a rank before the first barrier was the last path's, and after the second it is
            # this one's.
            self.comm.barrier()
            self._tell(PathStart(index))
            self._watchdog.turn(path, 0, startup_limit(self.plan))
            self.comm.barrier()
            if end is not None:
                # Too short a part would give no path a figure: then the first ones have theirs.
                share = max((end - now) / (len(paths) - index), LEAST_S)
            self.runner.run(path, sizes, None if end is None else min(now + share, end))
