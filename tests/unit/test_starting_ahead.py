"""When processes start ahead of their turn."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, cast

import pytest

from wirespeed.frontend.machine import Machine
from wirespeed.frontend.starter import PathLaunch, Starter, StepKey
from wirespeed.host.mpi import Mpi
from wirespeed.host.process import started_on
from wirespeed.job.messages import RankPlace
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path


@pytest.mark.parametrize(
    ("beside", "starts"),
    [("host", 0), ("host-shared", 0), ("staged", 0), ("staged-pipelined", 1), ("gpu", 1), ("ipc-write", 1)],
)
def test_nothing_starts_while_cpus_move_the_bytes(
    beside: str, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the figures of paths that CPUs move: on an idle machine nothing of ours is in their way."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    monkeypatch.setattr("wirespeed.frontend.starter.cpu_quota", lambda: None)
    started = list[StepKey]()
    monkeypatch.setattr(Starter, "_launched", lambda _, key, ahead: started.append(key))
    starter = Starter(Plan(), cast(Machine, None), "r", None, lambda: 0.0)
    coming = StepKey((PathLaunch(find_path("nccl"), 1, (8,)),), cast(Any, Mpi))
    starter.start_ahead([coming], find_path(beside))
    assert len(started) == starts


@pytest.mark.parametrize(
    ("bound", "free"), [(("0", "1"), range(2, 8)), (("0-3", "4-7"), range(8)), (("0-7", "0-7"), range(8))]
)
def test_what_starts_ahead_is_not_on_the_cpus_of_those_that_measure(
    bound: tuple[str, ...], free: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects figures from a launcher, an interpreter and an MPI that start on a CPU which is timed."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    starter = Starter(Plan(), cast(Machine, None), "r", None, lambda: 0.0)
    ranks = [cast(RankPlace, {"cpus": cpus}) for cpus in bound]
    starter.met(StepKey((PathLaunch(find_path("nccl"), 1, (8,)),), cast(Any, Mpi)), ranks)
    assert starter.aside() == set(free)


def test_processes_begin_where_they_are_started() -> None:
    """Protects the same, and the CPUs of this process, which start others later."""
    before = os.sched_getaffinity(0)
    with started_on({min(before)}):
        code = "import os; print(sorted(os.sched_getaffinity(0)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"[{min(before)}]"] and os.sched_getaffinity(0) == before
