"""Ranks die and stop inside NCCL, over a stand-in library: the culprit and its call are named."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support import mpis
from support.command import Measure
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_nccl
from support.strikes import PATIENCE, SLOW, is_struck, struck

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def libraries(builds: Path) -> dict[str, str]:
    return {**fake_nccl(builds), **fake_driver(builds, "cuda")}


@pytest.mark.parametrize(
    ("path", "device", "rank"),
    [
        ("nccl", "emulated", 0),
        slow_case("nccl", "cuda", 1),
        slow_case("nccl-stream", "emulated", 1),
        ("nccl-stream", "cuda", 0),
    ],
)
def test_a_killed_rank(
    path: str, device: str, rank: int, libraries: dict[str, str], measure: Measure
) -> None:
    """Protects what was measured, the paths that follow, and the name of the rank that died inside NCCL."""
    words = (f"pingpong --device {device} --paths {path},host", *SLOW, *PATIENCE)
    done = struck(
        measure, *words, rank=rank, number=signal.SIGKILL, mpi=mpis.installed("mpich"), environment=libraries
    )
    (failure,) = done.failures
    is_struck(failure, signal.SIGKILL, rank)
    assert done.code == 1 and failure["path"] == path and any(entry["path"] == path for entry in done.entries)
    assert len([entry for entry in done.entries if entry["path"] == "host"]) == 3


@pytest.mark.parametrize(
    ("path", "device"), [("nccl", "emulated"), slow_case("nccl", "cuda"), ("nccl-stream", "cuda")]
)
def test_a_stopped_rank(path: str, device: str, libraries: dict[str, str], measure: Measure) -> None:
    """Protects the end of a hang: who is stopped, and the call of NCCL that the other one waits in."""
    # One long sample, so that the signal surely falls into it and not between two.
    words = (f"pingpong --device {device} --paths {path} --sizes 8,4M --warmup 0 --loops 5000", *PATIENCE)
    (failure,) = struck(
        measure, *words, number=signal.SIGSTOP, delay=0.5, mpi=mpis.installed("mpich"), environment=libraries
    ).failures
    is_struck(failure, signal.SIGSTOP)
    assert "is stopped (SIGSTOP)" in failure["text"]
    # Where the library works at once it is its own call, where in a stream it is our waiting for that.
    call = "ncclGroupEnd" if device == "emulated" else "NCCL's stream"
    assert f"rank 0 waits in {call} with rank 1" in failure["text"]
