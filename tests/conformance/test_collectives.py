"""Every collective operation, by libraries and by ours, is exact on every rank; a wrong element is found."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from conformance.test_patterns import played
from support.command import Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import fake_nvshmem
from support.stand_ins import fake_nccl

from wirespeed.patterns.collectives import PATTERNS

pytestmark = pytest.mark.slow(after=1)

NAMES = {pattern.name for pattern in PATTERNS}
OURS = ("ring", "doubling", "direct", "one-shot")
LACKING = (
    *("MPI has no type", "in place leaves", "power of two", "is not done by", "its library has no"),
    *("ncclAlltoAll takes two buffers", "NVSHMEM does this operation between two buffers"),
)
"""Begin reasons why there is no figure."""


def told_by(
    mpi: InstalledMpi, ranks: int, device: str, paths: str, tmp: Path, *fault: str, **more: Any
) -> Any:
    """What rank 0 was told of all operations: odd counts, none at all, and more than one message's worth."""
    more["libraries"] = {"COLLECTIVES": "5" if device == "host" else "3"} | (more.get("libraries") or {})
    return played(mpi, ranks, device, paths, tmp, *fault, **({"sizes": "0,1000,70000"} | more))


def exact(told: list[dict[str, Any]], paths: str, ranks: int, operations: Collection[str] = NAMES) -> None:
    """Each operation has figures on each path, and no failure but of what there is not."""
    for message in told:
        if message["kind"] == "failure":
            assert message["what"] == "unavailable" and any(word in message["text"] for word in LACKING), (
                message
            )
    entries = [message for message in told if message["kind"] == "entry"]
    for path in paths.split(","):
        by_library = path.partition(":")[2] not in OURS
        lacks = {"barrier"} if path.startswith("nccl") and by_library else set[str]()
        if path == "shmem":
            lacks = {"reduce"}
        if path.endswith(":doubling"):
            lacks |= {"alltoall"} | (set() if ranks in (2, 4, 8) else {"allgather", "reducescatter"})
        if path.endswith(":one-shot"):
            lacks |= NAMES - {"allreduce"}
        assert {*operations} - lacks <= {entry["pattern"] for entry in entries if entry["path"] == path}, path
    for entry in entries:
        assert entry["checked"]["wrong"] == 0 and entry["checked"]["iterations"] >= 1
        # Sums in place grow from iteration to iteration: some would soon be inexact.
        options = entry["options"]
        grows = options.get("in_place") == "yes" and options.get("op") == "sum"
        small = "16" in options.get("type", "fp32")
        if entry["pattern"] == "reduce":
            small = small or entry["details"].get("algorithm") in ("ring", "doubling")
        grows = grows and entry["pattern"] in ("reduce", "reducescatter") and small
        assert entry["checked"]["batches"] == (0 if grows else entry["checked"]["of_batches"]), entry
        if entry["bytes"] >= 1000 and entry["pattern"] != "barrier":
            assert entry["checked"]["bytes"] > 0 or entry["pattern"] in ("reduce", "broadcast")


@pytest.mark.parametrize(
    ("mpi", "ranks", "paths", "variants"),
    [
        ("openmpi", 3, "host,host:ring,host:doubling,host:direct,host:one-shot", 2),
        ("openmpi", 3, "host,host:ring,host:doubling,host:direct,host:one-shot", 5),
        slow_case("openmpi", 8, "host:best", 5),
        ("mpich", 2, "host,host:ring,host:doubling", 5),
        ("impi", 2, "host,host:direct", 5),
    ],
    indirect=["mpi"],
)
def test_every_operation_on_host_buffers(
    mpi: InstalledMpi, ranks: int, paths: str, variants: int, tmp_path: Path
) -> None:
    """Protects MPI's own calls in both of their binary interfaces, and each of our algorithms.

    MPICH's ranks never yield: more of them than cores take their time.
    """
    sizes = "1000" if ranks == 8 else "0,1000,70000" if variants == 5 else "0,70000"
    asked = {"COLLECTIVES": str(variants)}
    told = told_by(mpi, ranks, "host", paths, tmp_path, sizes=sizes, libraries=asked)
    exact(told, paths, ranks)
    chosen = {m["details"]["algorithm"] for m in told if m["kind"] == "entry" and m["path"] == "host:best"}
    assert chosen <= {*OURS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mpi", "ranks", "paths", "variants"),
    [
        ("openmpi", 3, "staged:direct,gpu:ring", 1),
        slow_case("openmpi", 3, "staged:direct,gpu:ring", 3),
        slow_case("openmpi", 2, "ipc-write:doubling,staged-pipelined:ring", 3),
        # Compiling is collective, and some ranks have fewer messages, and the same ones twice.
        slow_case("openmpi", 5, "staged-pipelined:doubling", 3),
    ],
    indirect=["mpi"],
)
def test_every_operation_on_devices(
    mpi: InstalledMpi, ranks: int, paths: str, variants: int, tmp_path: Path
) -> None:
    """Protects ours over paths whose peers write into buffers, and over those that run work by themselves."""
    asked = {"COLLECTIVES": str(variants)}
    exact(told_by(mpi, ranks, "emulated", paths, tmp_path, sizes="1000", libraries=asked), paths, ranks)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_operations_of_a_stand_in_of_nccl(mpi: InstalledMpi, builds: Path, tmp_path: Path) -> None:
    """Protects NCCL's own calls, with and without the CPU between iterations, and ours over its messages."""
    paths = "nccl,nccl-stream,nccl:direct"
    told = told_by(mpi, 2, "emulated", paths, tmp_path, sizes="70000", libraries=fake_nccl(builds))
    exact(told, paths, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("mpi", "ranks"), [("openmpi", 3), ("mpich", 2)], indirect=["mpi"])
def test_operations_of_nvshmem_s_team(mpi: InstalledMpi, ranks: int, builds: Path, tmp_path: Path) -> None:
    """Protects NVSHMEM's calls for a team: places, counts, types and roots, in symmetric memory."""
    packages = {"PYTHONPATH": str(fake_nvshmem(builds))}
    told = told_by(mpi, ranks, "emulated", "shmem", tmp_path, libraries=packages)
    exact(told, "shmem", ranks)
    calls = {m["details"]["call"] for m in told if m["kind"] == "entry" and m["pattern"] == "allreduce"}
    assert "nvshmemx_float_sum_reduce_on_stream" in calls and "nvshmemx_half_max_reduce_on_stream" in calls


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
@pytest.mark.parametrize("fault", ["drop-element", "repeat-element", "swap-elements", "repeat-iteration"])
def test_one_wrong_element_is_found(mpi: InstalledMpi, fault: str, tmp_path: Path) -> None:
    """Protects the check: an element that is dropped, repeated or misordered, in every operation and type."""
    told = told_by(mpi, 2, "host", "host,host:direct", tmp_path, f"fault={fault}", sizes="4096")
    # Of the least of all ranks, in place, half of them have it before.
    hidden = (
        [("reduce", "min"), ("allreduce", "min"), ("reducescatter", "min")] if fault == "drop-element" else []
    )
    figures = [m for m in told if m["kind"] == "entry" and m["pattern"] != "barrier"]
    assert {(m["pattern"], m["options"].get("op")) for m in figures} <= {*hidden}
    failures = [m for m in told if m["kind"] == "failure" and m["what"] != "unavailable"]
    assert failures and {m["what"] for m in failures} == {"mismatch"}
    for failure in failures:
        assert "not the exact result; on rank" in failure["text"]
        if fault == "drop-element":
            assert "element" in failure["text"] and "iteration 0" in failure["text"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["batch-lost", "batch-damaged"])
@pytest.mark.parametrize(
    ("operation", "algorithms"),
    [("allreduce", "all"), ("reduce", "library,direct"), ("reducescatter", "all")],
)
def test_a_batch_of_sums_in_place_is_checked(
    operation: str, algorithms: str, fault: str, tmp_path: Path
) -> None:
    """Protects in-place sums, which grow: what ranks give before a batch cancels out or stays exact."""
    words = [
        *(operation, "--ranks", "3", "--oversubscribe", "--paths", "host", "--algorithm", algorithms),
        *("--in-place", "yes", "--loops", "50", "--sizes", "4096", "--no-evidence"),
    ]
    sound = wirespeed(*words, out=tmp_path / "sound.jsonl").ok()
    assert sound.entries and all(entry["checked"]["batches"] == 1 for entry in sound.entries)
    done = wirespeed(*words, "--test", f"fault={fault}", out=tmp_path / "faulty.jsonl")
    assert done.code == 1 and not done.entries, done.out + done.err
    assert {failure["what"] for failure in done.failures} <= {"mismatch", "unavailable"}
    found = [failure["text"] for failure in done.failures if failure["what"] == "mismatch"]
    assert len(found) == len(sound.entries) and all("after a batch of" in text for text in found)


@pytest.mark.slow
def test_counts_beyond_mpi_s_are_cut(tmp_path: Path) -> None:
    """Protects sizes beyond 2^31 elements, with a small limit in their place: pieces, or one clear line."""
    words = ("--ranks", "2", "--paths", "host", "--algorithm", "library", "--sizes", "4K", "--loops", "2")
    for name in ("allreduce", "broadcast"):
        done = wirespeed(name, *words, "--test", "largest-count=100", out=tmp_path / f"{name}.jsonl").ok()
        assert done.entries[0]["checked"]["wrong"] == 0
    done = wirespeed("allgather", *words, "--test", "largest-count=100", out=tmp_path / "allgather.jsonl")
    assert "MPI_Allgather takes at most 100 elements for each rank, not 512" in done.failures[0]["text"]


@pytest.mark.slow
def test_an_mpi_that_crashes_in_a_reduction_of_device_pointers(measure: Measure) -> None:
    """Protects all other entries: the crash is one line, and ours has its figures."""
    words = ("--ranks", "2", "--device", "emulated", "--paths", "aware,staged", "--algorithm", "library,ring")
    done = measure("allreduce", *words, "--sizes 4K --loops 2").ok()
    assert [entry["path"] for entry in done.entries] == ["staged:ring"]
    assert {failure["path"] for failure in done.failures} == {"aware", "aware:ring"}
    assert "on a device pointer" in done.failures[0]["text"]
