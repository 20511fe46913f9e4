"""Programs whose ranks would share a GPU: one line before anything is measured, and the rest is measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Done, Measure
from support.mpis import InstalledMpi
from support.stand_ins import fake_driver

pytestmark = pytest.mark.slow(after=1)

SMALL = ("--size", "64x64", "--max-time", "0.005", "--no-evidence")
WANTED = "a program needs a GPU for each rank, or every step contains the driver's time slices"


@pytest.fixture
def one_gpu(builds: Path) -> dict[str, str]:
    """The environment of a machine with a single CUDA device."""
    return {**fake_driver(builds, "cuda"), "FAKE_GPU_DEVICES": "1"}


def said(done: Done) -> list[str]:
    """Lines on stderr, but for the progress."""
    return [line for line in done.err.splitlines() if "[path " not in line]


def test_readme_s_line(one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects `lbm --ranks 1,2` on one GPU from figures that are impossible, all of them."""
    done = measure("lbm --ranks 1,2", *SMALL, environment=one_gpu).ok()
    assert [run["plan"]["ranks"] for run in done.of("run")] == [1]
    assert done.entries and not done.failures
    left_out, results = said(done)
    assert left_out.startswith("ranks 2 is left out: ") and WANTED in left_out
    assert left_out.endswith("; 2 GPUs would also show what the transfers between them cost")
    assert results.startswith("results: ")


@pytest.mark.parametrize("words", [("--ranks", "2"), ("--ranks-per-gpu", "2"), ("--between", "0,0")])
def test_a_shared_gpu_is_refused(words: tuple[str, ...], one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects from a run of minutes without one true figure."""
    done = measure("jacobi", *words, *SMALL, environment=one_gpu)
    (line,) = said(done)
    assert done.code == 3 and line.startswith(f"wirespeed: jacobi --ranks 2: {WANTED}"), line
    assert not measure.out.exists()


def test_without_ranks_each_gpu_has_one(one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects `wirespeed jacobi` from a default that is refused."""
    done = measure("jacobi", *SMALL, environment=one_gpu).ok()
    assert [run["plan"]["ranks"] for run in done.of("run")] == [1]


def test_inside_a_launcher(mpi: InstalledMpi, one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects a job whose ranks somebody else has placed: only they know where they are."""
    done = measure("lbm", *SMALL, inside=mpi, environment=one_gpu)
    lines = [line for line in said(done) if line.startswith("wirespeed: ")]
    assert lines == [f"wirespeed: lbm: {WANTED}; ranks 0 and 1 share one"], done.err
    assert done.code != 0 and not measure.out.exists()


def test_fields_in_host_memory_share_no_gpu(one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects paths whose field the CPUs compute, beside those that are left out."""
    words = ("lbm", "--ranks", "2", "--paths", "host,staged", *SMALL)
    done = measure(*words, environment=one_gpu)
    assert {entry["path"] for entry in done.entries} == {"host"}
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("staged", "unavailable") and WANTED in failure["text"]
