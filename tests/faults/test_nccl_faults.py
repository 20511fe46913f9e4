"""Ranks die and stop inside NCCL, over a stand-in library: the culprit and its call are named."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import disturbed
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_nccl
from support.strikes import PATIENCE, SLOW, after, strike

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def libraries(builds: Path) -> dict[str, str]:
    return {**fake_nccl(builds), **fake_driver(builds, "cuda")}


def struck(
    rank: int, number: int, delay: float, options: tuple[str, ...], libraries: dict[str, str], out: Path
) -> Any:
    """A run whose rank gets a signal so many seconds after the first figure."""
    mpi = mpis.installed("mpich")

    arguments = ("pingpong", "--mpi", str(mpi.mpiexec), *PATIENCE, *options)
    act = strike(out, rank, number, delay)
    done = disturbed(*arguments, out=out, when=after(1), act=act, environment=libraries)
    assert done.code == 1
    return done


@pytest.mark.parametrize(
    ("path", "device", "rank"),
    [
        ("nccl", "emulated", 0),
        slow_case("nccl", "cuda", 1),
        slow_case("nccl-stream", "emulated", 1),
        ("nccl-stream", "cuda", 0),
    ],
)
def test_a_killed_rank(path: str, device: str, rank: int, libraries: dict[str, str], tmp_path: Path) -> None:
    """Protects what was measured, the paths that follow, and the name of the rank that died inside NCCL."""
    options = ("--device", device, "--paths", f"{path},host", *SLOW)
    done = struck(rank, signal.SIGKILL, 0.1, options, libraries, tmp_path / "r.jsonl")
    (failure,) = done.failures
    assert (failure["what"], failure["path"], failure["rank"]) == ("death", path, rank), failure["text"]
    assert any(entry["path"] == path for entry in done.entries)
    assert len([entry for entry in done.entries if entry["path"] == "host"]) == 3


@pytest.mark.parametrize(
    ("path", "device"), [("nccl", "emulated"), slow_case("nccl", "cuda"), ("nccl-stream", "cuda")]
)
def test_a_stopped_rank(path: str, device: str, libraries: dict[str, str], tmp_path: Path) -> None:
    """Protects the end of a hang: who is stopped, and the call of NCCL that the other one waits in."""
    # One long sample, so that the signal surely falls into it and not between two.
    options = ("--device", device, "--paths", path, "--sizes", "8,4M", "--warmup", "0", "--loops", "5000")
    done = struck(1, signal.SIGSTOP, 0.5, options, libraries, tmp_path / "r.jsonl")
    (failure,) = done.failures
    assert failure["what"] == "hang" and failure["rank"] == 1, failure["text"]
    assert "is stopped (SIGSTOP)" in failure["text"]
    # Where the library works at once it is its own call, where in a stream it is our waiting for that.
    call = "ncclGroupEnd" if device == "emulated" else "NCCL's stream"
    assert f"rank 0 waits in {call} with rank 1" in failure["text"]
