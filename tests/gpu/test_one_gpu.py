"""What users do with one GPU: copies, lists, programs of one rank, and ranks that share it."""

from __future__ import annotations

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


def run(prefix: Path, out: Path, *words: str, code: int = 0) -> Done:
    done = wirespeed(*words, "--device", DEVICE, "--mpi", prefix, *FAST, out=out)
    assert done.code == code, done.err + done.out
    return done


def all_measured(done: Done, paths: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    """Each path has a figure of each size, of which bytes were compared."""
    for path in paths:
        entries = [entry for entry in done.entries if entry["path"] == path]
        assert [entry["bytes"] for entry in entries] == [*sizes], (path, done.failures)
        assert all(entry["checked"]["bytes"] > 0 for entry in entries), path


@pytest.mark.parametrize("both", [False, True])
def test_copies_by_engines_and_by_kernels(both: bool, prefix: Path, tmp_path: Path) -> None:
    """Protects copies of each kind, by kernels too, and two directions at once."""
    kinds = tuple(path.name for path in COPIES if not path.lists)
    paths = ("h2d-pinned", "h2d-kernel", "h2d-managed") if both else kinds
    words = ("copy", "--ranks", "1", "--paths", ",".join(paths), "--sizes", ",".join(SIZES))
    done = run(prefix, tmp_path / "r.jsonl", *words, *["--both-ways"] * both)
    assert not done.failures
    all_measured(done, paths, tuple(SIZES.values()))
    for entry in (entry for entry in done.entries if entry["pattern"] == "copy"):
        moved = entry["bytes"] * (1 + both)
        assert entry["bandwidth_bytes"] == moved
        # A rank's copies are compared alone and with all.
        assert entry["checked"]["bytes"] % moved == 0 < entry["checked"]["bytes"]


@pytest.mark.parametrize("both", [False, slow_case(True)])
def test_all_gpus_copy_at_once(both: bool, prefix: Path, tmp_path: Path) -> None:
    """Protects the figure of the slowest rank, also where two share the GPU."""
    paths = ("h2d-pinned", "d2h-kernel")
    both_ways = ["--both-ways"] * both
    words = ("copy", "--ranks", "2", "--paths", ",".join(paths[: 2 - both]), "--sizes", "4097,1M", *both_ways)
    done = run(prefix, tmp_path / "r.jsonl", *words, *sharing())
    assert not done.failures
    all_measured(done, paths[: 2 - both], (4097, 1 << 20))


def test_lists_between_gpu_and_host(prefix: Path, tmp_path: Path) -> None:
    """Protects lists by a loop of copies, by one call, and by a kernel."""
    paths = tuple(path.name for path in COPIES if path.name != "h2h")
    words = ("offload", "--paths", ",".join(paths), "--block", "4K,32K", "--count", "50")
    done = run(prefix, tmp_path / "r.jsonl", *words)
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
def test_a_program_of_one_rank(words: str, prefix: Path, tmp_path: Path) -> None:
    """Protects the solvers, bit by bit beside the CPU's, through the command."""
    done = run(prefix, tmp_path / "r.jsonl", *words.split(), "--ranks", "1", "--steps", "20")
    assert [entry["path"] for entry in done.entries] == ["compute"] and not done.failures, done.failures
    assert done.entries[0]["checked"]["bytes"] > 0


@pytest.mark.nvidia
def test_programs_want_a_gpu_each(prefix: Path, tmp_path: Path) -> None:
    """Protects from figures that are time slices of the driver."""
    done = run(prefix, tmp_path / "r.jsonl", "jacobi", *ON_ONE, "--size", "64x64", code=3)
    assert "a program needs a GPU for each rank" in done.err and not done.entries


def test_ranks_that_share_a_gpu(prefix: Path, tmp_path: Path) -> None:
    """Protects every path that they can use, every byte, and the line of each that they cannot."""
    words = ("pingpong", *ON_ONE, "--paths", ",".join(BY_HOST + OWN_GPU), "--sizes", ",".join(SIZES))
    done = run(prefix, tmp_path / "r.jsonl", *words)
    assert {failure["path"]: failure["what"] for failure in done.failures} == dict.fromkeys(
        OWN_GPU, "unavailable"
    )
    assert "take turns on it" in next(one["text"] for one in done.failures if one["path"] == "gpu")
    all_measured(done, BY_HOST, tuple(SIZES.values()))
    assert "ranks 0-1 share" in " ".join(done.out.split())


@pytest.mark.nvidia
@pytest.mark.parametrize("path", BY_MPI)
def test_an_mpi_between_ranks_that_share_a_gpu(path: str, prefix: Path, tmp_path: Path) -> None:
    """Protects MPI with device pointers: both ranks have a context on one device."""
    words = ("pingpong", *ON_ONE, "--paths", path, "--sizes", ",".join(SIZES))
    done = run(prefix, tmp_path / "r.jsonl", *words)
    assert not done.failures
    all_measured(done, (path,), tuple(SIZES.values()))


@pytest.mark.parametrize("pattern", ["ring", *map(slow_case, ("halo", "stream", "pairs", "exchange"))])
def test_patterns_of_ranks_that_share_a_gpu(pattern: str, prefix: Path, tmp_path: Path) -> None:
    """Protects several transfers at once, through the command."""
    paths = ("staged", "ipc-write", "ipc-read")
    words = (pattern, *ON_ONE, "--paths", ",".join(paths), "--sizes", "8,64K")
    done = run(prefix, tmp_path / "r.jsonl", *words)
    assert not done.failures
    all_measured(done, paths, (8, 1 << 16))


def test_lists_between_ranks_that_share_a_gpu(prefix: Path, tmp_path: Path) -> None:
    """Protects lists that a kernel gathers, and those that one call takes."""
    words = ("blocks", *ON_ONE, "--paths", "staged,ipc-gather,ipc-write", "--block", "4K", "--count", "50")
    done = run(prefix, tmp_path / "r.jsonl", *words)
    assert not done.failures
    all_measured(done, ("staged", "ipc-gather", "ipc-write"), (4096,))


def test_a_soak_of_ranks_that_share_a_gpu(prefix: Path, tmp_path: Path) -> None:
    """Protects each byte of a soak by the host's copies, and that a planted fault is found."""
    words = ("pingpong", *ON_ONE, "--paths", "staged,ipc-write", "--sizes", "8,64K", "--soak", "0.2")
    done = run(prefix, tmp_path / "r.jsonl", *words)
    soaks = done.of("soak")
    assert {soak["path"] for soak in soaks} == {"staged", "ipc-write"} and not done.failures, done.failures
    assert not any(any(soak["wrong"].values()) for soak in soaks), soaks


def test_a_load_from_its_own_memory(prefix: Path, tmp_path: Path) -> None:
    """Protects the figure of one load: each end right, and each sample of more than one."""
    words = ("rma", "--operation", "load", *ON_ONE, "--paths", "gpu-load-own", "--sizes", "64K,2M")
    done = run(prefix, tmp_path / "r.jsonl", *words)
    assert not done.failures
    all_measured(done, ("gpu-load-own",), (1 << 16, 2 << 20))
    assert all(entry["iterations_per_sample"] > 1 for entry in done.entries)


@pytest.mark.nvidia
def test_the_doctor_sees_it(tmp_path: Path) -> None:
    """Protects what the doctor says of a machine with a GPU."""
    done = wirespeed("doctor", "--look-only")
    assert "NVIDIA" in done.out, done.out + done.err


@pytest.mark.slow
def test_a_survey(prefix: Path, measure: Measure) -> None:
    """Protects `wirespeed survey` on a machine with few GPUs."""
    done = measure(f"survey --device {DEVICE} --mpi", prefix)
    assert done.code == 0 and done.entries, done.err + done.out
