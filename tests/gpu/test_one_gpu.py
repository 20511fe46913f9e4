"""What users do with one GPU: copies, lists, programs of one rank, and ranks that share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from gpu.conftest import DEVICE, sharing
from support.command import Done, Measure, wirespeed
from support.selection import slow_case

from wirespeed.paths.copy import PATHS as COPIES

FAST = ("--max-time", "0.005")
SIZES = {"1": 1, "4097": 4097, "1M": 1 << 20}
ON_ONE = ("--between", "0,0")
BY_HOST = ("host", "staged", "staged-pinned", "staged-pipelined", "ipc-write", "ipc-read", "ipc-kernel")
BY_MPI = ("aware", "aware-nogdr", "aware-managed", "aware-d2h", "aware-h2d", "rma", "rma-get")
"""Those that want an MPI which takes device pointers."""
OWN_GPU = ("gpu", "nccl", "nccl-stream")
pytestmark = pytest.mark.gpus(1)


Run = Callable[..., Done]


@pytest.fixture
def run(prefix: Path, measure: Measure) -> Run:
    """Runs a command. Where paths are given, all_measured() of them, and nothing failed."""

    def run(*words: str, paths: Sequence[str] = (), sizes: Sequence[int] = (), code: int = 0) -> Done:
        given = ("--paths", ",".join(paths)) if paths else ()
        done = measure(*words, *given, f"--device {DEVICE} --mpi", prefix, *FAST)
        assert done.code == code, done.err + done.out
        assert not paths or not done.failures, done.failures
        all_measured(done, paths, sizes)
        return done

    return run


def all_measured(done: Done, paths: Sequence[str], sizes: Sequence[int]) -> None:
    """Each path has a figure of each size, of which bytes were compared."""
    for path in paths:
        entries = [entry for entry in done.entries if entry["path"] == path]
        assert [entry["bytes"] for entry in entries] == [*sizes], (path, done.failures)
        assert all(entry["checked"]["bytes"] > 0 for entry in entries), path


@pytest.mark.parametrize("both", [False, True])
def test_copies_by_engines_and_by_kernels(both: bool, run: Run) -> None:
    """Protects copies of each kind, by kernels too, and two directions at once."""
    kinds = tuple(path.name for path in COPIES if not path.lists)
    paths = ("h2d-pinned", "h2d-kernel", "h2d-managed") if both else kinds
    words = ("copy --ranks 1 --sizes", ",".join(SIZES), *["--both-ways"] * both)
    done = run(*words, paths=paths, sizes=tuple(SIZES.values()))
    for entry in (entry for entry in done.entries if entry["pattern"] == "copy"):
        moved = entry["bytes"] * (1 + both)
        assert entry["bandwidth_bytes"] == moved
        # A rank's copies are compared alone and with all.
        assert entry["checked"]["bytes"] % moved == 0 < entry["checked"]["bytes"]


@pytest.mark.parametrize("both", [False, slow_case(True)])
def test_all_gpus_copy_at_once(both: bool, run: Run) -> None:
    """Protects the figure of the slowest rank, also where two share the GPU."""
    words = ("copy --ranks 2 --sizes 4097,1M", *["--both-ways"] * both, *sharing())
    run(*words, paths=("h2d-pinned", "d2h-kernel")[: 2 - both], sizes=(4097, 1 << 20))


def test_lists_between_gpu_and_host(run: Run) -> None:
    """Protects lists by a loop of copies, by one call, and by a kernel."""
    paths = tuple(path.name for path in COPIES if path.name != "h2h")
    done = run("offload --block 4K,32K --count 50 --paths", ",".join(paths))
    assert not [failure for failure in done.failures if failure["what"] != "unavailable"], done.failures
    lacking = {failure["path"] for failure in done.failures}
    # One call for a list is of newer drivers.
    assert lacking <= {"h2d-batch", "d2h-batch"}
    all_measured(done, tuple(path for path in paths if path not in lacking), (4096, 32768))


@pytest.mark.parametrize(
    "words",
    [
        "jacobi --size 96x64",
        "jacobi --size 130x66 --fp 64 --edges fixed",
        "lbm --size 24x16",
        slow_case("lbm --size 64x24 --case rayleigh-taylor"),
    ],
)
def test_a_program_of_one_rank(words: str, run: Run) -> None:
    """Protects the solvers, bit by bit beside the CPU's, through the command."""
    done = run(words, "--ranks 1 --steps 20")
    assert [entry["path"] for entry in done.entries] == ["compute"] and not done.failures, done.failures
    assert done.entries[0]["checked"]["bytes"] > 0


@pytest.mark.nvidia
def test_programs_want_a_gpu_each(run: Run) -> None:
    """Protects from figures that are time slices of the driver."""
    done = run("jacobi --size 64x64", *ON_ONE, code=3)
    assert "a program needs a GPU for each rank" in done.err and not done.entries


def test_ranks_that_share_a_gpu(run: Run) -> None:
    """Protects every path that they can use, every byte, and the line of each that they cannot."""
    done = run("pingpong --sizes", ",".join(SIZES), *ON_ONE, "--paths", ",".join(BY_HOST + OWN_GPU))
    assert {failure["path"]: failure["what"] for failure in done.failures} == dict.fromkeys(
        OWN_GPU, "unavailable"
    )
    assert "take turns on it" in next(one["text"] for one in done.failures if one["path"] == "gpu")
    all_measured(done, BY_HOST, tuple(SIZES.values()))
    assert "ranks 0-1 share" in " ".join(done.out.split())


@pytest.mark.nvidia
@pytest.mark.parametrize("path", BY_MPI)
def test_an_mpi_between_ranks_that_share_a_gpu(path: str, run: Run) -> None:
    """Protects MPI with device pointers: both ranks have a context on one device."""
    run("pingpong --sizes", ",".join(SIZES), *ON_ONE, paths=(path,), sizes=tuple(SIZES.values()))


@pytest.mark.parametrize("pattern", ["ring", *map(slow_case, ("halo", "stream", "pairs", "exchange"))])
def test_patterns_of_ranks_that_share_a_gpu(pattern: str, run: Run) -> None:
    """Protects several transfers at once, through the command."""
    paths = ("staged", "ipc-write", "ipc-read")
    run(pattern, "--sizes 8,64K", *ON_ONE, paths=paths, sizes=(8, 1 << 16))


def test_lists_between_ranks_that_share_a_gpu(run: Run) -> None:
    """Protects lists that a kernel gathers, and those that one call takes."""
    run("blocks --block 4K --count 50", *ON_ONE, paths=("staged", "ipc-gather", "ipc-write"), sizes=(4096,))


def test_a_soak_of_ranks_that_share_a_gpu(run: Run) -> None:
    """Protects each byte of a soak by the host's copies, and that a planted fault is found."""
    done = run("pingpong --paths staged,ipc-write --sizes 8,64K --soak 0.2", *ON_ONE)
    soaks = done.of("soak")
    assert {soak["path"] for soak in soaks} == {"staged", "ipc-write"} and not done.failures, done.failures
    assert not any(any(soak["wrong"].values()) for soak in soaks), soaks


def test_a_load_from_its_own_memory(run: Run) -> None:
    """Protects the figure of one load: each end right, and each sample of more than one."""
    words = ("rma --operation load --sizes 64K,2M", *ON_ONE)
    done = run(*words, paths=("gpu-load-own",), sizes=(1 << 16, 2 << 20))
    assert all(entry["iterations_per_sample"] > 1 for entry in done.entries)


@pytest.mark.nvidia
def test_the_doctor_sees_it() -> None:
    """Protects what the doctor says of a machine with a GPU."""
    done = wirespeed("doctor", "--look-only")
    assert "NVIDIA" in done.out, done.out + done.err


@pytest.mark.slow
def test_a_survey(prefix: Path, measure: Measure) -> None:
    """Protects `wirespeed survey` on a machine with few GPUs."""
    done = measure(f"survey --device {DEVICE} --mpi", prefix)
    assert done.code == 0 and done.entries, done.err + done.out
