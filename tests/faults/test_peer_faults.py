"""Ranks that are killed or stopped on the paths within a host: the culprit is named, and the run goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support import mpis
from support.command import Done, Measure, Record
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_nccl
from support.strikes import ALONE, LONG, PATIENCE, SLOW, is_struck, strike, struck

pytestmark = pytest.mark.slow

PATHS = ("ipc-write", "ipc-read", "ipc-kernel", "gpu")
FOLLOWING = dict.fromkeys(PATHS, "ipc-read") | {"ipc-read": "ipc-write"}
BARRIERS = ("barrier before a batch",)
# What rank 0 may sit in when it notices that rank 1 does not go on.
CALLS = {
    "gpu": ("persistent kernel",),
    **dict.fromkeys(PATHS[:3], ("wait for the peer's word", "copy between GPUs")),
}


WORDS = "pingpong --device emulated --sizes 8,8M --loops 1500 --paths"


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
def test_a_stopped_rank(mpi: InstalledMpi, path: str, measure: Measure) -> None:
    """Protects from waiting for ever for a word in memory: which rank is stopped, where its peer waits."""
    words = (WORDS, f"{path},{FOLLOWING[path]}", *PATIENCE)
    failure = is_well(struck(measure, *words, mpi=mpi, number=signal.SIGSTOP), path)
    is_struck(failure, signal.SIGSTOP)
    assert "is stopped (SIGSTOP)" in failure["text"]
    assert failure["bytes"] == 8 << 20
    stacks = {stack["rank"]: stack for stack in failure["stacks"]}
    # Between two batches rank 0 waits in MPI for what rank 1 has to say, in none of our calls, or for all.
    call = stacks[0]["call"] or ""
    assert call in ("", *CALLS[path], *BARRIERS) or call.startswith("MPI_"), stacks[0]
    assert call not in CALLS[path] or stacks[0]["peer"] == 1


@pytest.mark.parametrize("path", ["ipc-write", "gpu", slow_case("ipc-read"), slow_case("ipc-kernel")])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_killed_rank(mpi: InstalledMpi, path: str, measure: Measure) -> None:
    """Protects the name of the rank that died while its peer's copies and kernels wait for it."""
    words = (WORDS, f"{path},{FOLLOWING[path]}", *PATIENCE)
    failure = is_well(struck(measure, *words, mpi=mpi, number=signal.SIGKILL), path)
    is_struck(failure, signal.SIGKILL)
    assert "rank 1 on " in failure["text"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_struck_rank_while_kernels_wait(mpi: InstalledMpi, number: int, measure: Measure) -> None:
    """Protects the other rank's process, whose kernel still waits for a word, from staying behind."""
    # The signal comes while the large one is measured.
    sizes = {"8": 8, "256": 256, "16K": 1 << 14, "8M": 8 << 20}
    words = ("pingpong --device emulated --paths ipc-write,staged --sizes", ",".join(sizes))
    fixed = ("--test copy=waiting-kernel", *ALONE, *PATIENCE)
    done = struck(measure, *words, *fixed, mpi=mpi, number=number, figures=3)
    assert done.code == 1
    by = [e["details"]["copied by"] for e in done.entries if e["path"] == "ipc-write"]
    # After a hang new ranks try the next size, and a busy machine may not show them that a kernel waits.
    assert by[0] == "kernel that waits for the host's word"
    assert [e["bytes"] for e in done.entries if e["path"] == "staged"] == [*sizes.values()]
    (failure,) = done.failures
    is_struck(failure, number)
    assert (failure["path"], failure["bytes"]) == ("ipc-write", 8 << 20)


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_sizes_that_took_turns_come_back(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects smaller sizes from the death of a rank while all take turns: new processes measure them."""
    sizes = [8, 64 << 10, 1 << 20, 8 << 20]
    words = ("pingpong --device emulated --paths ipc-write,staged --sizes", ",".join(map(str, sizes)))
    kill = strike(measure.out, 1, signal.SIGKILL, delay=1.0)

    def began(records: list[Record]) -> bool:
        return any(record["kind"] == "step" for record in records)

    done = measure.disturbed(*words, *LONG, *PATIENCE, mpi=mpi, when=began, act=kill)
    (failure,) = done.failures
    is_struck(failure, signal.SIGKILL)
    assert failure["path"] == "ipc-write"
    measured = sorted(entry["bytes"] for entry in done.entries if entry["path"] == "ipc-write")
    assert measured == [size for size in sizes if size < failure["bytes"]]
    assert [entry["bytes"] for entry in done.entries if entry["path"] == "staged"] == sizes


@pytest.mark.parametrize("number", [signal.SIGKILL, slow_case(signal.SIGSTOP)])
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_struck_target_of_loads(mpi: InstalledMpi, number: int, measure: Measure) -> None:
    """Protects the name of the rank whose memory is read, which takes no part in the loads."""
    words = ("rma --device emulated --operation load --sizes 64K,8M", *LONG, *PATIENCE)
    done = struck(measure, *words, mpi=mpi, number=number)
    assert done.code == 1
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == [
        ("gpu-load", 64 << 10),
        ("gpu-load-own", 64 << 10),
        ("gpu-load-own", 8 << 20),
    ]
    (failure,) = done.failures
    is_struck(failure, number)
    assert failure["path"] == "gpu-load"


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


def is_well_in_chunks(done: Done) -> Record:
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
def test_a_stopped_rank_between_chunks(mpi: InstalledMpi, way: str, tmp_path: Path) -> None:
    """Protects from waiting for ever for a peer's words in shared memory: who, and in which of our calls."""
    calls = ("send chunks", "receive chunks") if way == "shared=no" else ("send through", "receive through")
    for attempt in range(5):
        failure = is_well_in_chunks(hit(mpi, way, Measure(tmp_path / f"{attempt}.jsonl"), signal.SIGSTOP))
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
def test_a_killed_rank_between_chunks(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the name of the rank that died while its peer's streams wait for it."""
    failure = is_well_in_chunks(hit(mpi, "by=streams", measure, signal.SIGKILL))
    is_struck(failure, signal.SIGKILL)
    assert "rank 1 on " in failure["text"]


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
def test_a_rank_killed_inside_nccl(
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
def test_a_rank_stopped_inside_nccl(
    path: str, device: str, libraries: dict[str, str], measure: Measure
) -> None:
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
