"""Ranks that are killed or stopped on the paths within a host: the culprit is named, and the run goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.command import Done, Record, disturbed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import ALONE, LONG, PATIENCE, after, strike

pytestmark = pytest.mark.slow

PATHS = ("ipc-write", "ipc-read", "ipc-kernel", "gpu")
FOLLOWING = dict.fromkeys(PATHS, "ipc-read") | {"ipc-read": "ipc-write"}
BARRIERS = ("MPI_Barrier", "barrier before a batch")
# What rank 0 may sit in when it notices that rank 1 does not go on.
CALLS = {
    "gpu": ("persistent kernel",),
    **dict.fromkeys(PATHS[:3], ("wait for the peer's word", "copy between GPUs", *BARRIERS)),
}


def struck(mpi: InstalledMpi, path: str, out: Path, rank: int, number: int) -> Done:
    """A run whose rank gets the signal during the largest size of the path; another path follows."""
    paths = f"{path},{FOLLOWING[path]}"
    return beaten(
        mpi, ("pingpong", "--paths", paths, "--sizes", "8,8M", "--loops", "1500"), out, rank, number
    )


def beaten(
    mpi: InstalledMpi, words: tuple[str, ...], out: Path, rank: int, number: int, figures: int = 1
) -> Done:
    """A run on emulated GPUs whose rank gets the signal after so many figures."""
    return disturbed(
        *(*words, "--mpi", str(mpi.mpiexec), "--device", "emulated", *PATIENCE),
        out=out,
        when=after(figures),
        act=strike(out, rank, number),
    )


def is_well(done: Done, path: str) -> Record:
    """What was measured is there, the path after it too; the only failure. (conftest.py: nothing is left.)"""
    assert done.code == 1
    assert [e["bytes"] for e in done.entries if e["path"] == path] == [8]
    assert [e["bytes"] for e in done.entries if e["path"] == FOLLOWING[path]] == [8, 8 << 20]
    (failure,) = done.failures
    assert failure["path"] == path
    return failure


@pytest.mark.parametrize("path", ["ipc-write", "gpu"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_stopped_rank(mpi: InstalledMpi, path: str, tmp_path: Path) -> None:
    """Protects from waiting for ever for a word in memory: which rank is stopped, where its peer waits."""
    failure = is_well(struck(mpi, path, tmp_path / "r.jsonl", 1, signal.SIGSTOP), path)
    assert failure["what"] == "hang" and failure["rank"] == 1, failure["text"]
    assert "is stopped (SIGSTOP)" in failure["text"]
    assert failure["bytes"] == 8 << 20
    stacks = {stack["rank"]: stack for stack in failure["stacks"]}
    # Between two batches rank 0 waits in MPI for what rank 1 has to say.
    assert stacks[0]["call"] in (*CALLS[path], "", None), stacks[0]
    if stacks[0]["call"] in CALLS[path] and stacks[0]["call"] not in BARRIERS:
        assert stacks[0]["peer"] == 1


@pytest.mark.parametrize("path", ["ipc-write", "gpu", slow_case("ipc-read"), slow_case("ipc-kernel")])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_killed_rank(mpi: InstalledMpi, path: str, tmp_path: Path) -> None:
    """Protects the name of the rank that died while its peer's copies and kernels wait for it."""
    failure = is_well(struck(mpi, path, tmp_path / "r.jsonl", 1, signal.SIGKILL), path)
    assert (failure["what"], failure["rank"]) == ("death", 1), failure
    assert "rank 1 on " in failure["text"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_struck_rank_while_kernels_wait(mpi: InstalledMpi, number: int, tmp_path: Path) -> None:
    """Protects the other rank's process, whose kernel still waits for a word, from staying behind."""
    # The signal comes while the large one is measured.
    sizes = {"8": 8, "256": 256, "16K": 1 << 14, "8M": 8 << 20}
    fixed = ("--sizes", ",".join(sizes), "--test", "copy=waiting-kernel", *ALONE)
    words = ("pingpong", "--paths", "ipc-write,staged", *fixed)
    done = beaten(mpi, words, tmp_path / "r.jsonl", 1, number, figures=3)
    assert done.code == 1
    by = [e["details"]["copied by"] for e in done.entries if e["path"] == "ipc-write"]
    # After a hang new ranks try the next size, and a busy machine may not show them that a kernel waits.
    assert by[0] == "kernel that waits for the host's word"
    assert [e["bytes"] for e in done.entries if e["path"] == "staged"] == [*sizes.values()]
    (failure,) = done.failures
    what = "death" if number == signal.SIGKILL else "hang"
    assert (failure["path"], failure["what"], failure["rank"]) == ("ipc-write", what, 1), failure["text"]
    assert failure["bytes"] == 8 << 20


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_sizes_that_took_turns_come_back(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects smaller sizes from the death of a rank while all take turns: new processes measure them."""
    out, sizes = tmp_path / "r.jsonl", [8, 64 << 10, 1 << 20, 8 << 20]
    words = (
        "pingpong",
        "--paths",
        "ipc-write,staged",
        "--sizes",
        ",".join(map(str, sizes)),
        *LONG,
        *PATIENCE,
    )
    done = disturbed(
        *(*words, "--mpi", str(mpi.mpiexec), "--device", "emulated"),
        out=out,
        when=lambda records: any(record["kind"] == "step" for record in records),
        act=strike(out, 1, signal.SIGKILL, delay=1.0),
    )
    (failure,) = done.failures
    assert (failure["path"], failure["what"], failure["rank"]) == ("ipc-write", "death", 1), failure["text"]
    measured = sorted(entry["bytes"] for entry in done.entries if entry["path"] == "ipc-write")
    assert measured == [size for size in sizes if size < failure["bytes"]]
    assert [entry["bytes"] for entry in done.entries if entry["path"] == "staged"] == sizes


@pytest.mark.parametrize("number", [signal.SIGKILL, slow_case(signal.SIGSTOP)])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_struck_target_of_loads(mpi: InstalledMpi, number: int, tmp_path: Path) -> None:
    """Protects the name of the rank whose memory is read, which takes no part in the loads."""
    words = ("rma", "--operation", "load", "--sizes", "64K,8M", *LONG)
    done = beaten(mpi, words, tmp_path / "r.jsonl", 1, number)
    assert done.code == 1
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == [
        ("gpu-load", 64 << 10),
        ("gpu-load-own", 64 << 10),
        ("gpu-load-own", 8 << 20),
    ]
    (failure,) = done.failures
    what = "death" if number == signal.SIGKILL else "hang"
    assert (failure["path"], failure["what"], failure["rank"]) == ("gpu-load", what, 1), failure["text"]
