"""`--device openmp`: every byte checked over runtimes of OpenMP, and one line for what they cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tools
from support.command import Done, Measure, wirespeed
from support.stand_ins import driver

pytestmark = pytest.mark.slow

FAST = ("--max-time", "0.005", "--warmup", "0", "--sizes", "8,4097,64K")
NO_GPU = "these OpenMP devices are the CPU: no figure of this run is one of a GPU"


@pytest.fixture
def llvm() -> dict[str, str]:
    """The environment in which OpenMP's devices are LLVM's, on the CPU."""
    found = tools.llvm_offloading()
    if found is None:
        pytest.skip("no libomptarget.so (apt install libomp-14-dev)")
    return {"WIRESPEED_LIBRARY_OPENMP": str(found)}


@pytest.fixture
def libgomp(builds: Path) -> dict[str, str]:
    """The environment in which they are those of the real libgomp, over a fake CUDA driver."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    return {"LD_PRELOAD": str(driver(builds, "cuda"))}


def right(done: Done, *paths: str) -> None:
    """Each path gave figures, of bytes that were compared."""
    assert done.code == 0, done.err + done.out
    assert {entry["path"] for entry in done.entries} >= set(paths)
    assert all(entry["checked"]["iterations"] > 0 for entry in done.entries)


def test_the_real_libgomp(libgomp: dict[str, str], measure: Measure) -> None:
    """Protects what runs on GPUs: staging through the host by omp_target_memcpy."""
    words = ("pingpong", "--device", "openmp", "--paths", "staged,staged-pinned", *FAST)
    done = measure(*words, environment=libgomp)
    right(done, "staged")
    (why,) = {failure["text"] for failure in done.failures if failure["path"] == "staged-pinned"}
    assert why == "libgomp.so.1 hands out no pinned memory; measure 'staged'"
    assert "with OpenMP device 1, GPU by libgomp of GCC" in " ".join(done.out.split())
    assert NO_GPU not in done.out


@pytest.mark.slow(after=1)
def test_devices_that_are_the_cpu(llvm: dict[str, str], measure: Measure) -> None:
    """Protects from calling the CPU a GPU: these figures say so, and no MPI is called GPU-aware."""
    paths = ("staged", "staged-pinned", "aware")
    words = ("pingpong", "--device", "openmp", "--paths", ",".join((*paths, "nccl,gpu")), *FAST)
    done = measure(*words, environment=llvm)
    right(done, *paths)
    assert NO_GPU in done.out and "GPU-aware MPI" not in done.out
    assert "nccl, gpu: not available: --device openmp only allocates and copies" in " ".join(done.out.split())


def test_copies_inside_a_rank(llvm: dict[str, str], measure: Measure) -> None:
    paths = ("d2h-pageable", "h2d-pinned", "d2d")
    words = ("copy", "--device", "openmp", "--ranks", "1", "--paths", ",".join(paths), *FAST)
    right(measure(*words, environment=llvm), *paths)


@pytest.mark.parametrize("pattern", ["ring", "jacobi", "allreduce"])
def test_what_needs_kernels_says_so(pattern: str, llvm: dict[str, str], measure: Measure) -> None:
    """Protects from a crash or a wrong sum: OpenMP's interface starts no kernels of ours."""
    words = (pattern, "--device", "openmp", "--ranks", "2", "--paths", "staged")
    done = measure(*words, environment=llvm)
    assert done.code == 3 and not done.entries, done.err + done.out
    said = " ".join((done.err + done.out).split())
    assert f"{pattern} computes on the GPU, and --device openmp only allocates and copies" in said


def test_an_allocator_of_its_own(llvm: dict[str, str]) -> None:
    done = wirespeed("pingpong", "--device", "openmp", "--allocator", "openacc", *FAST, environment=llvm)
    assert done.code == 2 and "--device openmp allocates by OpenMP; leave it out" in done.err
