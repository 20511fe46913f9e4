"""Orders of the front end to the ranks of one job step, in one word of their command line, or a JSON file."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from wirespeed.host.process import host_name
from wirespeed.job.plan import Plan


@dataclass(frozen=True)
class StepSpec:
    """One job step: the paths that its processes measure, one after the other."""

    plan: Plan
    paths: tuple[tuple[str, tuple[int, ...]], ...]
    """(name, sizes) of each."""
    run: str
    expected: ExpectedJob
    device: str
    """Kind of device: host, cuda, hip, openmp or emulated."""
    variables: dict[str, str]
    """Environment that the ranks must have; a launcher may have failed to carry it."""
    seconds: float | None = None
    """Time for all of these paths, from the moment on that this is written; None: they have no bound."""
    until: float = 0.0
    """Its end by the clock that tells the time (time.time())."""
    profiler: tuple[str, ...] = ()
    """Command line that each rank is started by (wirespeed/host/profilers.py); empty: none."""
    profiles: str = ""
    """Folder that the profiler writes into."""
    base: str = ""
    """The front end's private folder, for the pages of ranks on its host."""
    cpus: tuple[int, ...] = ()
    """The front end's, among which each rank places itself; empty: the launcher binds ranks."""
    threads_leave: bool = False
    """May threads of libraries leave the ranks' CPUs? Not where a batch system hands out CPUs."""
    host: str = field(default_factory=lambda: host_name())
    """Host on which the front end watches."""

    @classmethod
    def of(cls, members: dict[str, Any]) -> StepSpec:
        """As encode() has packed it."""
        plan, expected = Plan.of(members["plan"]), ExpectedJob(**members["expected"])
        return cls(**{**members, "plan": plan, "expected": expected})

    def end(self) -> float | None:
        """End of the time for all of these paths on this process's monotonic clock."""
        if self.seconds is None:
            return None
        # Hosts tell different times: none has longer than it was given.
        return time.monotonic() + min(self.until - time.time(), self.seconds)


BLOCK_SECONDS = 1e-3
"""Time for each block of a list: many messages at once may take an MPI the square of their number."""


def stuck_after(plan: Plan, size: int, blocks: int = 0) -> float:
    """Seconds without progress that count as a hang: --timeout, or 10 s + 2 x size / (50 MB/s).

    `blocks`: of a list that goes there and back, which adds 2 ms for each.
    """
    if plan.timeout is not None:
        return plan.timeout
    return 10.0 + 2 * size / 50e6 + 2 * BLOCK_SECONDS * blocks


def startup_limit(plan: Plan) -> float:
    """Seconds for all ranks to start and join."""
    return max(plan.timeout or 0.0, 60.0 + 0.5 * plan.ranks)


@dataclass(frozen=True)
class ExpectedJob:
    """The MPI and the number of ranks that the launcher was told to start; None and 0: not known."""

    vendor: str | None = None
    version: str | None = None
    size: int = 0
    library: str | None = None
