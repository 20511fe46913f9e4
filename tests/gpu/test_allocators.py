"""Memory as programs have it, on real GPUs: pools, mappings, OpenMP's and OpenACC's, and the trap."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.conftest import DEVICE, sharing
from support import tools
from support.command import Done, Measure, wirespeed
from support.selection import slow_case

from wirespeed.paths import find_path

PATHS = ("aware", "ipc-write", "gpu", "nccl", "staged")
OWN_GPU = ("gpu", "nccl")
"""Those whose ranks share no GPU."""
PEER = ("ipc-write", "gpu")
"""Those that open the memory in another process by a legacy IPC handle."""
CONTEXT = {"driver": "primary", "pool": "none", "vmm": "none", "openmp": "primary", "openacc": "primary"}
PATTERNS = {"pingpong": "8,64K,16M", "ring": "8,1M", "halo": "4K,1M"}
FIRST = ("driver", "vmm", "openmp")
CASES = [
    (pattern, name) if pattern == "pingpong" and name in FIRST else slow_case(pattern, name)
    for pattern in PATTERNS
    for name in CONTEXT
]
pytestmark = [pytest.mark.gpus(1), pytest.mark.nvidia]


@pytest.fixture(scope="module")
def paths(shared: bool) -> list[str]:
    return [path for path in PATHS if not (shared and path in OWN_GPU)]


def measured(pattern: str, allocator: str, prefix: Path, out: Path, paths: list[str], *words: str) -> Done:
    if allocator.startswith("open") and (why := tools.why_no_gcc_offloading()):
        pytest.skip(why)
    return wirespeed(
        *(pattern, "--device", DEVICE, "--allocator", allocator, "--paths", ",".join(paths), *words),
        *(() if pattern == "pingpong" else ("--ranks", "2")),
        *("--sizes", PATTERNS[pattern], "--max-time", "0.05", "--mpi", prefix),
        *sharing(),
        out=out,
        environment={"WIRESPEED_NO_EVIDENCE": ""},
    )


@pytest.mark.parametrize(("pattern", "allocator"), CASES)
def test_every_path_takes_it_or_says_why_not(
    pattern: str, allocator: str, prefix: Path, paths: list[str], shared: bool, tmp_path: Path
) -> None:
    """Protects every path from memory that the driver did not hand out by cuMemAlloc."""
    done = measured(pattern, allocator, prefix, tmp_path / "r.jsonl", paths)
    broken = [one for one in done.failures if one["what"] != "unavailable"]
    assert not broken, broken
    lacking = {one["path"]: one["text"] for one in done.failures}
    for path in paths:
        entries = [one for one in done.entries if one["path"] == path]
        if allocator in ("pool", "vmm") and path in PEER:
            assert "has no IPC handle" in lacking[path] and not entries
        elif path in lacking:
            # An MPI may refuse memory of a pool or a mapping; whatever else it says is a fault.
            assert path == "aware" and allocator in ("pool", "vmm"), lacking
        else:
            assert len(entries) == len(PATTERNS[pattern].split(","))
            assert all(one["checked"]["iterations"] > 0 for one in entries)
    for step in done.of("step"):
        for rank, pointer in enumerate(step["pointers"]):
            assert (pointer["memory"], pointer["device"]) == ("device", 0 if shared else rank), step["path"]
            assert pointer["context"] == CONTEXT[allocator]
            assert pointer["ipc"] is (allocator not in ("pool", "vmm"))


@pytest.mark.slow
@pytest.mark.parametrize("allocator", ["openmp", "openmp:map", "openacc", "openacc:map"])
def test_direct_paths_stay_direct(allocator: str, prefix: Path, paths: list[str], tmp_path: Path) -> None:
    """Protects the answer to the page's question: no path declared direct stages such memory."""
    done = measured("pingpong", allocator, prefix, tmp_path / "r.jsonl", paths)
    verdicts = {(one["path"], one["verdict"]) for one in done.of("evidence") if one["bytes"] >= 1 << 24}
    assert verdicts
    direct = {path for path in paths if find_path(path).claims_direct}
    assert not [path for path, verdict in verdicts if path in direct and verdict == "staged"], verdicts


@pytest.mark.parametrize("allocator", ["openmp", slow_case("openacc")])
def test_the_trap(allocator: str, prefix: Path, paths: list[str], tmp_path: Path) -> None:
    """Protects the outcome of memory that is older than any context: a figure, or a line that says why.

    Whatever MPI does, our own paths work, and where MPI fails or stages the doctor has the remedy.
    """
    file = tmp_path / "r.jsonl"
    done = measured("pingpong", allocator, prefix, file, paths, "--context", "own")
    steps = {step["path"]: step for step in done.of("step")}
    for path in {"staged", *PEER} & {*paths}:
        assert {one["context"] for one in steps[path]["pointers"]} == {"own"}
        assert len([one for one in done.entries if one["path"] == path]) == 3
    proofs = [one for one in done.of("evidence") if one["path"] == "aware"]
    failed = [one for one in done.failures if one["path"] == "aware"]
    assert bool(failed) != ("aware" in steps), "neither a figure nor a reason"
    finding = "older than any current CUDA context" in wirespeed("doctor", "--look-only", file).out
    assert finding == bool(failed or [one for one in proofs if one["verdict"] == "staged"])


def test_the_ring_counts_its_copies(prefix: Path, measure: Measure) -> None:
    """Protects 1002 against 2: with device pointers no step copies between a GPU and its host."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    done = measure(
        f"ring --device {DEVICE} --allocator openmp --ranks 2 --steps 1000 --paths staged,aware --sizes 1M",
        "--max-time 0.05 --mpi",
        prefix,
        *sharing(),
        environment={"WIRESPEED_NO_EVIDENCE": ""},
    ).ok()
    said = " ".join(done.out.split())
    assert "copies by each rank in an iteration: staged 1000 to device, 1000 from device; aware none" in said
