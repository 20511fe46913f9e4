"""When processes start ahead of their turn."""

from __future__ import annotations

import os
from typing import Any, cast

import pytest

from wirespeed.frontend.machine import Machine
from wirespeed.frontend.starter import PathLaunch, Starter, StepKey
from wirespeed.host.mpi import Mpi
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
