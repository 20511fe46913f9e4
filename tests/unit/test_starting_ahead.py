"""When processes start ahead of their turn."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple, cast

import pytest

from wirespeed.frontend.machine import Machine
from wirespeed.frontend.starter import PathLaunch, Starter, StepKey
from wirespeed.host.mpi import Mpi
from wirespeed.job.messages import RankPlace
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path


@pytest.mark.parametrize(
    ("beside", "starts"),
    [
        *(("host", 0), ("host-shared", 0), ("staged", 0), ("staged-pipelined", 1), ("gpu", 1)),
        *(("ipc-write", 1), ("gpu,ipc-write", 1), ("gpu,host", 0)),
    ],
)
def test_nothing_starts_while_cpus_move_the_bytes(
    beside: str, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the figures of paths that CPUs move: on an idle machine nothing of ours is in their way."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    monkeypatch.setattr("wirespeed.frontend.starter.cpu_quota", lambda: None)
    started = list[StepKey]()
    monkeypatch.setattr(Starter, "_launched", lambda _, key, ahead: started.append(key))
    starter = Starter(Plan(), cast(Machine, None), "r", None, lambda key: None)
    coming = StepKey((PathLaunch(find_path("nccl"), 1, (8,)),), cast(Any, Mpi))
    starter.start_ahead([coming], [find_path(path) for path in beside.split(",")])
    assert len(started) == starts


class Library(NamedTuple):
    """An MPI, as far as it matters here."""

    vendor: str


def starter() -> Starter:
    return Starter(Plan(), cast(Machine, None), "r", None, lambda key: None)


def step(path: str, vendor: str = "openmpi") -> StepKey:
    return StepKey((PathLaunch(find_path(path), 1, (8,)),), cast(Mpi, Library(vendor)))


def places(bound: tuple[str, ...]) -> list[RankPlace]:
    return [cast(RankPlace, {"cpus": cpus}) for cpus in bound]


@pytest.mark.parametrize(
    ("bound", "free"), [(("0", "1"), range(2, 8)), (("0-3", "4-7"), range(8)), (("0-7", "0-7"), range(8))]
)
def test_what_starts_ahead_is_not_on_the_cpus_of_those_that_measure(
    bound: tuple[str, ...], free: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects figures from a launcher, an interpreter and an MPI that start on a CPU which is timed."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    found = starter()
    found.met(step("nccl"), places(bound))
    assert found.aside() == set(free)


def test_each_mpi_has_its_own_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a run from figures of one path on other CPUs than those of the next one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    found = starter()
    found.met(step("nccl"), places(("0", "1")))
    assert found.cpus_ahead(step("aware")) == ("0", "1")
    assert found.cpus_ahead(step("host", "mpich")) == (), "nobody has seen where its ranks are"
    found.met(step("host", "mpich"), places(("0-7", "0-7")))
    assert found.cpus_ahead(step("aware")) == ("0", "1")
    assert found.cpus_ahead(step("shmem")) == ("0-7", "0-7"), "it has threads of its own, and is not bound"


def test_the_mpis_that_a_path_tries_start_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a survey's seconds: the second was half a second later, and was waited for."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    monkeypatch.setattr("wirespeed.frontend.starter.cpu_quota", lambda: None)
    started = list[StepKey]()
    monkeypatch.setattr(Starter, "_launched", lambda _, key, ahead: started.append(key))
    first = step("aware")
    coming = [first, replace(first, library=cast(Mpi, Library("mpich"))), step("nccl")]
    found = starter()
    found.start_ahead(coming, [find_path("staged-pipelined")])
    assert started == coming[:2]
    found.start_ahead(coming, [find_path("staged-pipelined")])
    assert started == coming[:2], "the next step starts half a second later"


def test_nobody_waits_for_an_mpi_that_is_not_wanted() -> None:
    """Protects memory of GPUs from processes that would try a path which works already."""

    class Waiting(NamedTuple):
        gone: list[bool]

        def abandon(self) -> None:
            self.gone.append(True)

    found, other, later = starter(), Waiting([]), Waiting([])
    works = step("aware")
    key = replace(works, library=cast(Mpi, Library("mpich")))
    found._waiting = cast(Any, {key: other, step("nccl"): later})
    found.works(works)
    assert other.gone and not later.gone and [*found._waiting] == [step("nccl")]
