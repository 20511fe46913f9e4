"""What rank 0 keeps of a job in a user's own launcher, whatever ends it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.records import entry

from wirespeed.frontend.in_launcher import _InsideRank
from wirespeed.frontend.launched_record import LaunchedRecord
from wirespeed.frontend.rank_messages import received
from wirespeed.job import shm_cleanup
from wirespeed.job.messages import Accepted, Message
from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.results.model import Failure
from wirespeed.results.reading import read
from wirespeed.results.recorder import StepJob

PATHS = find_path("host"), find_path("staged")


def plan(folder: Path) -> Plan:
    paths, file = ("host", "staged"), str(folder / "r.jsonl")
    return Plan(pattern="pingpong", paths=paths, sizes=(8, 64), ranks=2, out=file)


def launched(folder: Path) -> LaunchedRecord:
    """In a user's own launcher: the path `host` has one figure, and there was no time for more."""
    made = LaunchedRecord(plan(folder), PATHS[0], lambda event: None)
    made.begin_run(plan(folder), (), PATHS)
    assert made.launches(StepJob({}), 9.0) == [("host", (8, 64)), ("staged", (8, 64))]
    made.told(Accepted({}, [], ([], [])))
    made.told(received(cast(Message, entry("host", 8, 1e-6))))
    return made


def test_in_a_launcher_what_had_no_time_waits_for_time(tmp_path: Path) -> None:
    """Protects a bound: all paths that it had left out began one after the other once it was over."""
    made = launched(tmp_path)
    assert made.launches(StepJob({}), 0.0) == []
    made.step.first_figure_s = 10.0  # Here its kernels are compiled.
    assert made.launches(StepJob({}), 9.0) == [("host", (64,)), ("staged", (8, 64))]
    assert made.launches(StepJob({}), 9.0) == []
    made.close()


def test_a_rank_that_dies_after_the_last_path_is_in_the_file(tmp_path: Path) -> None:
    """Protects what broke as NCCL's communicator was closed, when no path is under way."""
    made = launched(tmp_path)
    made.launches(StepJob({}), 0.0)
    made.finish(Outcome("death", "rank 1 is gone", 1))
    (failure,) = (record for record in read(made.file).records if isinstance(record, Failure))
    assert (failure.path, failure.what, failure.rank) == ("host", "death", 1)


def test_a_job_that_fails_as_it_meets_leaves_no_file(tmp_path: Path) -> None:
    """Protects the next start with this --out from an empty file that is refused."""
    made = LaunchedRecord(plan(tmp_path), PATHS[0], lambda event: None)
    made.finish(Outcome("error", "MPI_Bcast failed"))
    assert not made.file.exists()


class Killed(Exception):
    """The launcher's SIGKILL, which follows its SIGTERM after 0.2 s."""


def test_segments_go_before_the_file_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects /dev/shm: closing the file may take longer than the launcher waits."""

    def interrupted(gone: object) -> None:
        raise Killed

    done: list[str] = []
    monkeypatch.setattr(shm_cleanup, "remove_own", lambda: done.append("segments"))
    rank: Any = object.__new__(_InsideRank)
    rank._voice = SimpleNamespace(dead=lambda: None)
    rank._watchdog = SimpleNamespace(close=lambda: done.append("watchdog"))
    rank._record = SimpleNamespace(interrupted=interrupted)
    with pytest.raises(Killed):
        rank._end_at_once()
    assert done == ["watchdog", "segments"]
