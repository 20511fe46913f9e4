"""Every pattern and program in memory that another allocator handed out, or OpenMP's own device."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tools
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import aware, particular
from support.stand_ins import driver, fake_driver

pytestmark = pytest.mark.slow

FAST = ("--max-time", "0.005", "--warmup", "0")
SMALL = ("--sizes", "8,4097,64K")
PATTERNS = {
    "pingpong": SMALL,
    "exchange": SMALL,
    "stream": SMALL,
    "ring": (*SMALL, "--ranks", "2"),
    "halo": ("--ranks", "2", "--sizes", "4K"),
    "pairs": ("--ranks", "2", "--sizes", "4K"),
    "groups": ("--ranks", "2", "--sizes", "4K"),
    "copy": ("--ranks", "2", "--sizes", "4K", "--paths", "d2d,h2d-pinned,d2h-pageable"),
    "jacobi": ("--ranks", "2", "--size", "96x40", "--steps", "8"),
    "lbm": ("--ranks", "2", "--size", "32x32", "--steps", "4"),
}


@pytest.fixture
def libgomp(builds: Path) -> dict[str, str]:
    """The environment of GPUs whose memory the real libgomp can hand out."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    return fake_driver(builds, "cuda")


def right(done: Done) -> None:
    """Everything gave a figure, of bytes that were compared."""
    assert done.code == 0, done.err + done.out
    assert done.entries and not done.failures
    assert all(entry["checked"]["iterations"] > 0 for entry in done.entries)


IN_SHORT = ("pingpong", "ring", "copy", "jacobi")


@pytest.mark.parametrize("pattern", [name if name in IN_SHORT else slow_case(name) for name in PATTERNS])
def test_every_pattern_on_a_pool(pattern: str, measure: Measure) -> None:
    """Protects patterns and programs from memory whose owner they would take for the driver."""
    paths = () if pattern == "copy" else ("--paths", "staged")
    done = measure(pattern, "--device emulated --allocator pool", *PATTERNS[pattern], *paths, *FAST)
    right(done)
    for step in done.of("step"):
        assert step["allocator"] == "pool"
        if "device" in (step["memory"], step["into"]):
            assert [one["ipc"] for one in step["pointers"]] == [False] * len(step["ranks"])


@pytest.mark.parametrize(
    ("pattern", "allocator", "paths"),
    [
        ("pingpong", "openmp", "staged,ipc-write,gpu"),
        slow_case("pingpong", "openmp:map", "ipc-write"),
        ("pingpong", "openacc", "ipc-write"),
        slow_case("ring", "openmp", "staged,gpu"),
        ("halo", "openacc:map", "staged,gpu"),
    ],
)
def test_the_real_libgomp(
    pattern: str, allocator: str, paths: str, libgomp: dict[str, str], measure: Measure
) -> None:
    """Protects memory of OpenMP and OpenACC on the paths that open it in other processes, and by MPI."""
    done = measure(
        *(pattern, f"--device cuda --allocator {allocator}", *PATTERNS[pattern], *FAST, f"--paths {paths}"),
        environment=libgomp,
    )
    right(done)
    for step in done.of("step"):
        for rank, pointer in enumerate(step["pointers"]):
            assert (pointer["rank"], pointer["device"]) == (rank, rank)
            assert pointer["library"] == "libgomp.so.1" and pointer["context"] == "primary"


@pytest.mark.parametrize("allocator", ["openmp", "openacc"])
def test_memory_older_than_any_context(allocator: str, libgomp: dict[str, str], measure: Measure) -> None:
    """Protects the trap itself: its memory is of a context that libgomp made, not of the primary one."""
    done = measure(
        *(f"pingpong --device cuda --allocator {allocator} --context own", *SMALL, *FAST),
        "--paths staged,ipc-write",
        environment=libgomp,
    )
    right(done)
    assert [one["context"] for step in done.of("step") for one in step["pointers"]] == ["own"] * 4
    shown = wirespeed("show", measure.out).out
    assert "in a context of its own" in shown and "GPU memory by" in shown


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_an_mpi_that_does_not_take_it(
    mpi: InstalledMpi, builds: Path, libgomp: dict[str, str], tmp_path: Path
) -> None:
    """Protects the trap's line in the table, its remedy, and the finding: a crash costs no figure."""
    prefix, outs = particular(builds, mpi), (tmp_path / "own.jsonl", tmp_path / "primary.jsonl")
    words = ("pingpong", "--device", "cuda", "--allocator", "openmp", "--mpi", prefix, *SMALL, *FAST)
    environment = {**mpi.variables, **libgomp}
    own, primary = (
        wirespeed(*words, "--paths", "staged,aware", *context, out=out, environment=environment)
        for out, context in zip(outs, (("--context", "own"), ()), strict=True)
    )
    right(primary)
    assert {entry["path"] for entry in own.entries} == {"staged"}
    (failure,) = own.failures
    assert (failure["path"], failure["what"]) == ("aware", "unavailable")
    assert "crashed on a device pointer" in failure["text"]
    assert "cudaSetDevice(n); cudaFree(0);" in failure["remedy"]
    said = " ".join(wirespeed("doctor", "--look-only", outs[0]).out.split())
    assert "Memory of openmp that is older than any current CUDA context is refused by MPI" in said


@pytest.mark.parametrize("allocator", ["pool", slow_case("vmm")])
def test_paths_that_cannot_take_it_say_so(allocator: str, measure: Measure) -> None:
    """Protects a table from silence: legacy IPC handles do not exist for such memory."""
    done = measure(
        *(f"pingpong --device emulated --allocator {allocator}", *SMALL, *FAST),
        "--paths staged,ipc-write,ipc-read,ipc-kernel,gpu,shmem",
    ).ok()
    assert {entry["path"] for entry in done.entries} == {"staged"}
    why = {failure["path"]: (failure["what"], failure["text"]) for failure in done.failures}
    assert {what for what, _ in why.values()} == {"unavailable"}
    for path in ("ipc-write", "ipc-read", "ipc-kernel", "gpu"):
        assert f"memory of --allocator {allocator} has no IPC handle" in why[path][1], path
    assert f"leave out --allocator {allocator}" in why["shmem"][1]


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_the_ring_counts_its_copies(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects the count by which device pointers are chosen: of 100 steps 200 copies, or none."""
    done = measure(
        *("ring --device emulated --allocator pool --ranks 2 --steps 100 --mpi", aware(builds, mpi)),
        *("--paths staged,aware --sizes 4K", *FAST),
        environment={**mpi.variables, "WIRESPEED_NO_EVIDENCE": ""},
    )
    right(done)
    said = "copies by each rank in an iteration: staged 100 to device, 100 from device; aware none"
    assert said in " ".join(done.out.split())


def test_an_allocator_that_is_not_there(measure: Measure) -> None:
    """Protects from host memory under a GPU's name: no runtime has an emulated GPU."""
    done = measure("pingpong --device emulated --allocator openacc --paths staged", *SMALL)
    assert done.code == 3, done.err + done.out
    assert "--allocator openacc: " in done.err + done.out


SHORT = ("--max-time", "0.005", "--warmup", "0", "--sizes", "8,4097,64K")
NO_GPU = "these OpenMP devices are the CPU: no figure of this run is one of a GPU"


@pytest.fixture
def llvm_device() -> dict[str, str]:
    """The environment in which OpenMP's devices are LLVM's, on the CPU."""
    found = tools.llvm_offloading()
    if found is None:
        pytest.skip("no libomptarget.so (apt install libomp-14-dev)")
    return {"WIRESPEED_LIBRARY_OPENMP": str(found)}


@pytest.fixture
def gomp_device(builds: Path) -> dict[str, str]:
    """The environment in which they are those of the real libgomp, over a fake CUDA driver."""
    if why := tools.why_no_gcc_offloading():
        pytest.skip(why)
    return {"LD_PRELOAD": str(driver(builds, "cuda"))}


def right_on(done: Done, *paths: str) -> None:
    """Each path gave figures, of bytes that were compared."""
    assert done.code == 0, done.err + done.out
    assert {entry["path"] for entry in done.entries} >= set(paths)
    assert all(entry["checked"]["iterations"] > 0 for entry in done.entries)


def test_a_device_of_the_real_libgomp(gomp_device: dict[str, str], measure: Measure) -> None:
    """Protects what runs on GPUs: staging through the host by omp_target_memcpy."""
    words = ("pingpong", "--device", "openmp", "--paths", "staged,staged-pinned", *SHORT)
    done = measure(*words, environment=gomp_device)
    right_on(done, "staged")
    (why,) = {failure["text"] for failure in done.failures if failure["path"] == "staged-pinned"}
    assert why == "libgomp.so.1 hands out no pinned memory; measure 'staged'"
    assert "with OpenMP device 1, GPU by libgomp of GCC" in " ".join(done.out.split())
    assert NO_GPU not in done.out


@pytest.mark.slow
def test_devices_that_are_the_cpu(llvm_device: dict[str, str], measure: Measure) -> None:
    """Protects from calling the CPU a GPU: these figures say so, and no MPI is called GPU-aware."""
    paths = ("staged", "staged-pinned", "aware")
    words = ("pingpong", "--device", "openmp", "--paths", ",".join((*paths, "nccl,gpu")), *SHORT)
    done = measure(*words, environment=llvm_device)
    right_on(done, *paths)
    assert NO_GPU in done.out and "GPU-aware MPI" not in done.out
    assert "nccl, gpu: not available: --device openmp only allocates and copies" in " ".join(done.out.split())


def test_copies_inside_a_rank(llvm_device: dict[str, str], measure: Measure) -> None:
    paths = ("d2h-pageable", "h2d-pinned", "d2d")
    words = ("copy", "--device", "openmp", "--ranks", "1", "--paths", ",".join(paths), *SHORT)
    right_on(measure(*words, environment=llvm_device), *paths)


@pytest.mark.parametrize("pattern", ["ring", "jacobi", "allreduce"])
def test_what_needs_kernels_says_so(pattern: str, llvm_device: dict[str, str], measure: Measure) -> None:
    """Protects from a crash or a wrong sum: OpenMP's interface starts no kernels of ours."""
    words = (pattern, "--device", "openmp", "--ranks", "2", "--paths", "staged")
    done = measure(*words, environment=llvm_device)
    assert done.code == 3 and not done.entries, done.err + done.out
    said = " ".join((done.err + done.out).split())
    assert f"{pattern} computes on the GPU, and --device openmp only allocates and copies" in said


def test_an_allocator_of_its_own(llvm_device: dict[str, str]) -> None:
    words = ("pingpong", "--device", "openmp", "--allocator", "openacc", *SHORT)
    done = wirespeed(*words, environment=llvm_device)
    assert done.code == 2 and "--device openmp allocates by OpenMP; leave it out" in done.err
