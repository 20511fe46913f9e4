"""Who hands out device memory; tests/golden/report/allocators.transcript has what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.hang import pattern_words
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.devices import check_allocator
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import find_pattern
from wirespeed.report.compare.comparison import compare
from wirespeed.results.reading import read
from wirespeed.results.runs import collect

RESULTS = Path(__file__).parents[2] / "results" / "allocators"


@pytest.mark.parametrize(
    ("kind", "allocator", "context", "code", "words"),
    [
        ("host", "pool", "primary", ExitCode.UNAVAILABLE, "it hands out memory of GPUs"),
        ("cuda", "driver", "own", ExitCode.USAGE, "write --allocator openmp or --allocator openacc"),
        ("cuda", "vmm", "own", ExitCode.USAGE, "'vmm' needs a context before it allocates"),
        ("hip", "openmp", "own", ExitCode.UNAVAILABLE, "hip devices have no contexts"),
    ],
)
def test_what_is_refused_in_one_line(kind: str, allocator: str, context: str, code: int, words: str) -> None:
    with pytest.raises(WirespeedError, match=r"--(allocator|context) ") as raised:
        check_allocator(kind, allocator, context)
    assert words in str(raised.value) and "\n" not in str(raised.value)
    assert raised.value.code == code


def test_what_works_is_not() -> None:
    check_allocator("cuda", "openacc:map", "own")
    check_allocator("emulated", "pool", "primary")
    check_allocator("host", "driver", "primary")


def test_a_library_with_memory_of_its_own() -> None:
    """Protects from a figure of NVSHMEM's heap under the name of another allocator."""
    pattern = find_pattern("pingpong")
    why = unsuited(find_path("shmem"), pattern, Plan(allocator="openmp"))
    assert why is not None and "--allocator openmp" in why
    assert unsuited(find_path("shmem"), pattern, Plan()) is None
    assert unsuited(find_path("aware"), pattern, Plan(allocator="openmp")) is None


def test_a_command_that_is_tried_again_has_the_same_memory() -> None:
    """Protects the doctor's trials after a hang from measuring other memory."""
    words = pattern_words(Plan(allocator="openmp", context="own"))
    assert words == ["pingpong", "--allocator", "openmp", "--context", "own"]


def test_compare_pairs_figures_of_two_allocators() -> None:
    """Protects the question that the option is for: does this memory cost anything?"""
    files = (f"h200-x2-allocator-{name}-halo.jsonl" for name in ("driver", "openmp"))
    old, new = (collect(read(RESULTS / file).records) for file in files)
    found = compare(old, new)
    assert {one.key.path for one in found.verdicts.figures} == {"aware", "gpu", "ipc-write", "nccl"}
    assert not found.only_old and not found.only_new and not found.harmful


def test_an_mpi_that_took_the_place_of_one_that_takes_no_gpu_memory() -> None:
    """Protects from blaming the context for what any device pointer does to another MPI."""
    runs = collect(read(RESULTS / "h200-x2-allocator-trap.jsonl").records)
    found = {one.key: one for one in find_all(MachineFacts(runs=(*runs,), file="f.jsonl"))}
    assert "mpi-stages" not in found and found["context-after-memory"].cost == "high"
    (evidence, *_) = found["context-after-memory"].evidence
    assert "Open MPI 5.0.11" in evidence and "crashed" not in evidence
