"""NCCL with registered buffers, symmetric windows and captured graphs, over a stand-in on a fake driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.test_collectives import exact, told_by
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_nccl, old_nccl
from support.tools import need_compiler

pytestmark = pytest.mark.slow

FAST = ("--max-time", "0.02", "--sizes", "1000,64K")


@pytest.fixture
def libraries(builds: Path) -> dict[str, str]:
    """Names the stand-ins to wirespeed, with two fake GPUs."""
    return {**fake_nccl(builds), **fake_driver(builds, "cuda"), "FAKE_GPU_DEVICES": "2"}


def reduced(tmp: Path, environment: dict[str, str], algorithms: str, device: str = "cuda") -> Done:
    """An all-reduce of two ranks by the path nccl."""
    words = ("--ranks", "2", "--device", device, "--paths", "nccl", "--algorithm", algorithms, "--explain")
    done = wirespeed("allreduce", *words, *FAST, out=tmp / "r.jsonl", environment=environment)
    need_compiler(done.failures)
    return done


@pytest.mark.parametrize(
    ("mpi", "variant"),
    [
        ("openmpi", "registered"),
        ("mpich", "symmetric"),
        ("openmpi", "graph"),
        slow_case("mpich", "registered"),
        slow_case("openmpi", "symmetric"),
    ],
    indirect=["mpi"],
)
def test_every_operation(mpi: InstalledMpi, variant: str, libraries: dict[str, str], tmp_path: Path) -> None:
    """Protects the name of each variant: no operation leaves the buffers that NCCL knows, or the graph.

    The stand-in ends the process where an operation touches other memory, where buffers are freed or the
    communicator ends before they are forgotten, and where ranks make windows of different sizes.
    """
    paths = f"nccl:{variant},nccl-stream:{variant}"
    known = {} if variant == "graph" else {"FAKE_NCCL_WANTS": variant}
    told = told_by(mpi, 2, "cuda", paths, tmp_path, sizes="1000,70000", libraries=libraries | known)
    need_compiler(told)
    exact(told, paths, 2)
    entries = [one for one in told if one["kind"] == "entry"]
    ways = {one["details"].get("enqueue") for one in entries}
    if variant == "graph":
        assert ways == {"graph"}
    else:
        assert {one["details"]["buffers"] for one in told if one["kind"] == "accepted"} == {variant}


@pytest.mark.parametrize("variant", ["registered", "symmetric", "graph"])
def test_a_wrong_element_is_found(variant: str, libraries: dict[str, str], measure: Measure) -> None:
    """Protects the check in memory that NCCL hands out, and of what a graph does."""
    words = ("--ranks", "2", "--device", "cuda", "--paths", f"nccl:{variant}", "--sizes", "4K")
    done = measure("allreduce", *words, "--loops 2 --test fault=drop-element", environment=libraries)
    need_compiler(done.failures)
    assert done.code == 1 and not done.entries
    assert "not the exact result" in done.failures[0]["text"]


def test_messages_in_registered_buffers(libraries: dict[str, str], measure: Measure) -> None:
    """Protects other patterns than collective operations: their buffers can be registered, too."""
    words = ("--device", "cuda", "--paths", "nccl:registered,nccl-stream:graph")
    done = measure("pingpong", *words, *FAST, environment=libraries)
    need_compiler(done.failures)
    assert done.code == 0, done.err
    assert len(done.entries) == 4 and all(entry["checked"]["bytes"] > 0 for entry in done.entries)


def test_an_old_library(builds: Path, tmp_path: Path) -> None:
    """Protects the line that names the version that is there, and the one that it takes."""
    done = reduced(tmp_path, old_nccl(builds), "library,registered,symmetric", "emulated").ok()
    assert {entry["path"] for entry in done.entries} == {"nccl"}
    texts = {failure["path"]: failure["text"] for failure in done.failures}
    assert "NCCL 2.18.3 registers no buffers; NCCL 2.19 and newer do" in texts["nccl:registered"]
    assert "NCCL 2.18.3 registers no buffers" in texts["nccl:symmetric"]
    assert {failure["what"] for failure in done.failures} == {"unavailable"}


@pytest.mark.parametrize(
    ("variant", "fault", "words"),
    [
        ("symmetric", {"FAKE_NCCL_NO_WINDOWS": "1"}, "NCCL 2.28.3 makes no symmetric window"),
        ("registered", {"FAKE_NCCL_FAIL": "ncclCommRegister=3"}, "NCCL 2.28.3): made to fail"),
        ("registered", {"FAKE_NCCL_FAIL": "ncclMemAlloc=1"}, "ncclMemAlloc("),
        ("graph", {"FAKE_GPU_FAIL": "cuGraphInstantiateWithFlags=801"}, "cuGraphInstantiateWithFlags"),
    ],
)
def test_what_fails_is_one_line(
    variant: str, fault: dict[str, str], words: str, libraries: dict[str, str], tmp_path: Path
) -> None:
    """Protects all other entries, and the figure's name: nothing falls back to another way unsaid."""
    done = reduced(tmp_path, libraries | fault, f"library,{variant}")
    assert [entry["path"] for entry in done.entries] == ["nccl"] * 2
    (failure,) = done.failures
    assert failure["path"] == f"nccl:{variant}" and words in failure["text"]
