"""Several ranks on a GPU, GPUs by UUID, and slices of one: each rank is where it was asked to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.stand_ins import fake_driver

pytestmark = pytest.mark.slow(after=1)

FAST = ("--max-time", "0.005", "--no-evidence")
SLICES = [f"MIG-00010203-0405-0607-0809-0a0b0c0d0e{n:02x}" for n in (1, 2)]


def devices_of(done: Done) -> list[str]:
    """The identity of each rank's device, by rank."""
    return [rank["device"]["id"] for rank in done.of("step")[0]["ranks"]]


@pytest.mark.parametrize(
    ("words", "gpus", "ranks"),
    [
        ("emulated --ranks-per-gpu 2", "count=2", "0011"),
        ("emulated:EMULATED-1,emulated:0 --ranks-per-gpu 2", "count=2", "1100"),
        ("emulated:EMULATED-1,EMULATED-0 --between 0,1,0,1", "count=2", "1010"),
        ("emulated --between 1,0", "count=2", "10"),
        ("emulated:1 --between 0,0", "count=2", "11"),
        # On a laptop nothing has to be declared.
        ("emulated --ranks 5 --oversubscribe", "", "01234"),
        ("emulated --ranks 5 --ranks-per-gpu 2 --oversubscribe", "", "00112"),
    ],
)
def test_each_rank_s_gpu(words: str, gpus: str, ranks: str, measure: Measure) -> None:
    """Protects which GPU each rank drives, and how many ranks are started without --ranks."""
    environment = {"WIRESPEED_EMULATED": gpus} if gpus else {}
    done = measure("ring --device", words, "--paths ipc-write --sizes 8", *FAST, environment=environment).ok()
    assert devices_of(done) == [f"EMULATED-{rank}" for rank in ranks]
    assert ("ranks 0-1 share emulated GPU" in done.out) == (ranks[0] == ranks[1])


def test_under_a_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the places of ranks that somebody else's launcher started, and the line of one too many."""
    words = ("ring", "--device", "emulated", "--ranks-per-gpu", "2", "--paths", "host", *FAST, "--sizes", "8")
    environment = {**mpi.environment(), "WIRESPEED_EMULATED": "count=2"}
    oversubscribed = ("--map-by", ":OVERSUBSCRIBE") if mpi.name == "openmpi" else ()
    before = (str(mpi.mpiexec), *oversubscribed, "-n", "4")
    done = measure(*words, before=before, environment=environment).ok()
    assert devices_of(done) == [f"EMULATED-{rank}" for rank in (0, 0, 1, 1)]


def test_one_rank_too_many_under_a_launcher() -> None:
    """Protects the reason why a job ended: rank 0 has its place, and does not know."""
    place = dict(zip(("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"), "3434", strict=True))
    environment = {f"OMPI_COMM_WORLD_{name}": word for name, word in place.items()}
    words = ("--device", "emulated", "--ranks-per-gpu", "2", "--paths", "host", *FAST)
    done = wirespeed("ring", *words, environment={**environment, "WIRESPEED_EMULATED": "count=1"})
    said = "wirespeed: rank 3: --ranks-per-gpu 2: 1 GPU holds 2 ranks of a host"
    assert done.code == 2 and done.err.startswith(said) and len(done.err.splitlines()) == 1, done.err


def test_more_ranks_than_places_is_one_line() -> None:
    """Protects from ranks that are started where they cannot be."""
    words = ("ring", "--device", "emulated", "--ranks-per-gpu", "2", "--ranks", "5", *FAST)
    done = wirespeed(*words, environment={"WIRESPEED_EMULATED": "count=2"})
    assert done.code == 2 and "2 GPUs hold 4 ranks of a host" in done.err and done.err.count("\n") == 1


class TestSlices:
    """A fake CUDA driver in MIG mode, which shows a process one slice."""

    @pytest.mark.parametrize("named", [True, slow_case(False)])
    def test_each_rank_has_its_own(self, named: bool, builds: Path, measure: Measure) -> None:
        """Protects the second slice, by --device or CUDA_VISIBLE_DEVICES; no IPC is one line, no crash."""
        device = ",".join(f"cuda:{name}" for name in SLICES) if named else "cuda"
        visible = {"FAKE_GPU_SLICES": "1", "CUDA_VISIBLE_DEVICES": ",".join(SLICES)}
        environment = {**fake_driver(builds, "cuda"), **visible}
        words = ("--paths", "staged,ipc-write,gpu", "--sizes", "8", *FAST)
        done = measure(f"pingpong --device {device}", *words, environment=environment).ok()
        assert devices_of(done) == SLICES
        assert {entry["path"] for entry in done.entries} == {"staged"}
        assert "ranks 0-1 use slices of one GPU (0000:a0:00.0)" in done.out
        assert {one["path"]: one["what"] for one in done.failures} == dict.fromkeys(
            ("ipc-write", "gpu"), "unavailable"
        )
        for failure in done.failures:
            assert "MIG slices have no peer access, and no IPC" in failure["text"]
            assert "cuIpcOpenMemHandle" in failure["text"]

    def test_a_slice_that_is_not_there(self, builds: Path, measure: Measure) -> None:
        """Protects from a stack trace of the rank that finds no device."""
        environment = {**fake_driver(builds, "cuda"), "FAKE_GPU_SLICES": "1"}
        environment["CUDA_VISIBLE_DEVICES"] = SLICES[0]
        words = ("--device", f"cuda:{SLICES[0]},cuda:MIG-none", "--paths", "staged", "--sizes", "8", *FAST)
        done = measure("pingpong", *words, environment=environment)
        (failure,) = done.failures
        assert failure["text"].endswith("the driver shows no such device; 'nvidia-smi -L' lists them")


@pytest.mark.parametrize(
    ("listed", "shown", "words"),
    [
        ("0,7", "1", "CUDA_VISIBLE_DEVICES=0,7 shows 1 GPU, not 2: the driver knows no GPU '7'"),
        ("7", "0", "CUDA_VISIBLE_DEVICES=7 shows no GPUs, not 1: the driver knows no GPU '7'"),
    ],
)
def test_a_variable_that_hides_gpus_is_told(
    listed: str, shown: str, words: str, builds: Path, measure: Measure
) -> None:
    """Protects from looking for a fault of the driver where an entry of a list is wrong."""
    environment = {**fake_driver(builds, "cuda"), "FAKE_GPU_DEVICES": shown, "CUDA_VISIBLE_DEVICES": listed}
    placed = ("--device", "cuda", "--between", "0,0")
    command = ("pingpong", *placed, "--paths", "staged", "--sizes", "8", *FAST)
    done = measure(*command, environment=environment)
    assert done.code == (0 if shown == "1" else 3) and words in " ".join(done.err.split())


def test_ranks_on_one_cuda_gpu_are_told_of_mps(builds: Path, measure: Measure, tmp_path: Path) -> None:
    """Protects that figures of a shared GPU come with what sharing costs, as cited, and with the remedy."""
    environment = {**fake_driver(builds, "cuda"), "CUDA_MPS_PIPE_DIRECTORY": str(tmp_path / "none")}
    words = ("--device", "cuda:GPU-1011", "--between", "0,0", "--paths", "ipc-write", "--sizes", "8", *FAST)
    done = measure("pingpong", *words, environment=environment).ok()
    assert [rank["mps"] for rank in done.of("step")[0]["ranks"]] == ["none", "none"]
    told = " ".join(done.out.split())
    assert "ranks 0-1 share GPU 1 Fake GPU: MPS is not running, so they take turns: on an H200" in told
    assert "not measured in this run" in told and "nvidia-cuda-mps-control -d" in told
