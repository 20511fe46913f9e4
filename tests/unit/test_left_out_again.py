"""What a bound left no time for is measured after all, where paths after it have taken less."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

import pytest
from support.records import entry

from wirespeed.frontend.bound import Bound
from wirespeed.frontend.rank_messages import Received, received
from wirespeed.frontend.recording import RunRecorder
from wirespeed.job.cause import Cause
from wirespeed.job.messages import Accepted, Message, PathFailure, PathStart
from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.results.recorder import StepJob

PATHS = find_path("host"), find_path("staged")


def plan(folder: Path) -> Plan:
    paths, file = ("host", "staged"), str(folder / "r.jsonl")
    return Plan(pattern="pingpong", paths=paths, sizes=(8, 64), ranks=2, out=file)


def recorder(folder: Path) -> RunRecorder:
    made = RunRecorder(plan(folder), lambda event: None)
    made.begin_here(())
    made.plans(PATHS)
    return made


def told_entry(path: str, size: int) -> Received:
    """A figure as rank 0 tells it."""
    return received(cast(Message, entry(path, size, 1e-6)))


def measures(made: RunRecorder, *told: tuple[str, int]) -> None:
    """Processes measure what is to come, as far as these figures go."""
    launches = [*made.to_come]
    made.start_path(launches[0])
    made.begin_step(launches, StepJob({}))
    for place, launch in enumerate(launches):
        made.told(PathStart(place))
        made.told(Accepted({}, [], ([], [])))
        for path, size in told:
            if path == launch.path.name:
                made.told(told_entry(path, size))
    made.path_over(Outcome())


def to_come(made: RunRecorder) -> list[tuple[str, tuple[int, ...]]]:
    return [(launch.path.name, launch.sizes) for launch in made.to_come]


def test_what_had_no_time_comes_again(tmp_path: Path) -> None:
    """Protects figures for which there was time: an algorithm that is long to compile was the first one."""
    made = recorder(tmp_path)
    measures(made, ("host", 8), ("staged", 8), ("staged", 64))
    assert made.again(9.0) and to_come(made) == [("host", (64,))]
    measures(made)
    assert not made.again(9.0), "a pass without a figure must be the last one"
    made.close()


def test_a_path_that_begins_slowly_does_not(tmp_path: Path) -> None:
    """Protects from a hang that was none: kernels are compiled anew, and the bound ends that."""
    made = recorder(tmp_path)
    measures(made, ("host", 8), ("staged", 8))
    made.step.first_figure_s = 10.0
    assert made.again(9.0) and to_come(made) == [("host", (64,))]
    made.close()


@pytest.mark.parametrize(("what", "size"), [("unavailable", None), ("crash", 8), ("hang", 8), ("death", 8)])
def test_a_path_that_failed_does_not(what: str, size: int | None, tmp_path: Path) -> None:
    """Protects from a crash that is made twice."""
    made = recorder(tmp_path)
    launches = [*made.to_come]
    made.start_path(launches[0])
    made.begin_step(launches, StepJob({}))
    made.told(PathFailure(what, "no", None, size, fatal=True))
    made.told(PathStart(1))
    made.told(told_entry("staged", 8))
    made.path_over(Outcome())
    assert made.again(9.0) and to_come(made) == [("staged", (64,))]
    made.close()


def test_a_path_that_another_mpi_measured_comes_again(tmp_path: Path) -> None:
    """Protects its sizes, and their mention: the MPI that took no device pointers had failed as a whole."""
    made = recorder(tmp_path)
    cause = Cause(instead="MPICH 5.0.2")
    made.fail(PATHS[0], Outcome("unavailable", "took no device pointers", cause=cause), None)
    measures(made, ("host", 8), ("staged", 8), ("staged", 64))
    assert made.again(9.0) and to_come(made) == [("host", (64,))]
    made.close()


def test_a_small_rest_is_left() -> None:
    """Protects a bound: to start again for what cannot end in time makes the command late."""
    now = time.monotonic()
    assert Bound(40.0, now - 20.0, now + 20.0).for_what_had_none()
    assert Bound(40.0, now - 33.0, now + 7.0).for_what_had_none() == 0.0
    assert Bound(6.0, now - 2.0, now + 4.0).for_what_had_none() == 0.0
    assert Bound(40.0, now - 20.0, now + 20.0).for_what_had_none(start_s=10.0) == 0.0
