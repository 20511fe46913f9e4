"""Ranks that are killed or stopped while chunks are under way: the culprit is named, and the run goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.command import Done, Measure, Record
from support.mpis import InstalledMpi
from support.strikes import PATIENCE, is_struck, struck

pytestmark = pytest.mark.slow


def hit(mpi: InstalledMpi, way: str, measure: Measure, number: int) -> Done:
    """A run whose rank 1 gets the signal during the largest size of staged-pipelined; staged follows."""
    return struck(
        measure,
        f"pingpong --device emulated --paths staged-pipelined,staged --test {way}",
        # Size by size, without turns: the largest takes more than a second.
        *("--sizes 8,32M --loops 15", *PATIENCE),
        mpi=mpi,
        number=number,
        # In the middle of a round of 70 ms or more: between two, ranks wait for each other in MPI.
        delay=0.02,
        rounds=3,
        # So slow that the largest size is still under way.
        environment={"WIRESPEED_EMULATED": "count=2,h2d=1e9,d2h=1e9"},
    )


def is_well(done: Done) -> Record:
    """What was measured is there, the path after it too; the only failure."""
    assert done.code == 1
    assert [e["bytes"] for e in done.entries if e["path"] == "staged-pipelined"] == [8]
    assert [e["bytes"] for e in done.entries if e["path"] == "staged"] == [8, 32 << 20]
    (failure,) = done.failures
    assert failure["path"] == "staged-pipelined"
    return failure


@pytest.mark.parametrize(
    ("mpi", "way"), [("openmpi", "shared=no"), ("mpich", "by=streams")], indirect=["mpi"]
)
def test_a_stopped_rank(mpi: InstalledMpi, way: str, tmp_path: Path) -> None:
    """Protects from waiting for ever for a peer's words in shared memory: who, and in which of our calls."""
    calls = ("send chunks", "receive chunks") if way == "shared=no" else ("send through", "receive through")
    for attempt in range(5):
        failure = is_well(hit(mpi, way, Measure(tmp_path / f"{attempt}.jsonl"), signal.SIGSTOP))
        is_struck(failure, signal.SIGSTOP)
        assert "is stopped (SIGSTOP)" in failure["text"]
        stacks = {stack["rank"]: stack for stack in failure["stacks"]}
        # Struck between two transfers, its peer waits for it in Python, or in an MPI call of Python's.
        if (stacks[0]["call"] or "").startswith(calls):
            break
    assert (stacks[0]["call"] or "").startswith(calls), stacks[0]
    assert stacks[0]["peer"] == 1
    assert any("path_run.py" in line for line in stacks[0]["python"])


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_killed_rank(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the name of the rank that died while its peer's streams wait for it."""
    failure = is_well(hit(mpi, "by=streams", measure, signal.SIGKILL))
    is_struck(failure, signal.SIGKILL)
    assert "rank 1 on " in failure["text"]
