"""Which GPU each rank has: several on one where somebody asks for it, by UUID, slices; or one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, slow_case(False)])
def test_each_rank_has_its_own_slice(named: bool, builds: Path, measure: Measure) -> None:
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


def test_a_slice_that_is_not_there(builds: Path, measure: Measure) -> None:
    """Protects from a stack trace of the rank that finds no device."""
    environment = {**fake_driver(builds, "cuda"), "FAKE_GPU_SLICES": "1"}
    environment["CUDA_VISIBLE_DEVICES"] = SLICES[0]
    words = ("--device", f"cuda:{SLICES[0]},cuda:MIG-none", "--paths", "staged", "--sizes", "8", *FAST)
    done = measure("pingpong", *words, environment=environment)
    (failure,) = done.failures
    assert failure["text"].endswith("the driver shows no such device; 'nvidia-smi -L' lists them")


@pytest.mark.slow
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
    command = ("pingpong", "--device", "cuda", "--paths", "staged", "--sizes", "8", *FAST)
    refused = wirespeed(*command, environment=environment)
    assert refused.code == 3 and words in refused.err and refused.err.count("\n") == 1, refused.err
    done = measure(*command, "--between", "0,0", environment=environment)
    assert done.code == (0 if shown == "1" else 3) and words in " ".join(done.err.split())


@pytest.mark.slow
def test_ranks_on_one_cuda_gpu_are_told_of_mps(builds: Path, measure: Measure, tmp_path: Path) -> None:
    """Protects that figures of a shared GPU come with what sharing costs, as cited, and with the remedy."""
    environment = {**fake_driver(builds, "cuda"), "CUDA_MPS_PIPE_DIRECTORY": str(tmp_path / "none")}
    words = ("--device", "cuda:GPU-1011", "--between", "0,0", "--paths", "ipc-write", "--sizes", "8", *FAST)
    done = measure("pingpong", *words, environment=environment).ok()
    assert [rank["mps"] for rank in done.of("step")[0]["ranks"]] == ["none", "none"]
    told = " ".join(done.out.split())
    assert "ranks 0-1 share GPU 1 Fake GPU: MPS is not running, so they take turns: on an H200" in told
    assert "not measured in this run" in told and "nvidia-cuda-mps-control -d" in told


ONE_EACH = ("--device", "emulated", "--max-time", "0.005", "--no-evidence")
ONE = {"WIRESPEED_EMULATED": "count=1"}
NEEDS = "needs two GPUs; --ranks-per-gpu 2 measures two ranks that take turns on one"


def measured(measure: Measure, command: str, *words: str, **how: Any) -> Done:
    return measure(command, "--sizes 8", *words, *ONE_EACH, environment=ONE, **how)


def test_what_needs_a_second_gpu_is_one_line(measure: Measure) -> None:
    """Protects from time slices of a driver that pass for a path between GPUs."""
    done = measured(measure, "pingpong").ok()
    assert {entry["path"] for entry in done.entries} == {"host"}
    assert {(failure["what"], failure["text"]) for failure in done.failures} == {("unavailable", NEEDS)}
    assert " ".join(done.out.split()).count(NEEDS) == 1
    assert "share" not in done.out, "CPU memory is shared by nobody"


def test_nothing_left(measure: Measure) -> None:
    """Protects from a table without a figure."""
    done = measured(measure, "pingpong", "--paths", "gpu,aware")
    assert (done.code, done.err) == (3, f"wirespeed: gpu: {NEEDS}\n")
    assert not measure.out.exists()


@pytest.mark.slow
def test_what_was_asked_for_is_called_so(measure: Measure) -> None:
    """Protects who reads the result from taking it for one of two GPUs."""
    done = measured(measure, "pingpong", "--paths", "staged", "--ranks-per-gpu", "2")
    assert done.code == 0 and {entry["path"] for entry in done.entries} == {"staged"}
    assert "2 ranks that take turns on each GPU" in done.out.splitlines()[0]


def test_copies_by_one_rank_for_each_gpu(tmp_path: Path) -> None:
    """Protects the default of copies, and of lists between a GPU and its host."""
    for command in ("copy", "offload"):
        words = (command, "--paths", "h2d-pinned", *(("--block", "4K") * (command == "offload")))
        done = measured(Measure(tmp_path / f"{command}.jsonl"), *words)
        assert done.code == 0 and [run["plan"]["ranks"] for run in done.of("run")] == [1], done.err


def test_of_a_list_of_ranks_what_can_be_is_measured(measure: Measure) -> None:
    """Protects `--ranks 1,2` on one GPU: 1 has its figures, 2 the line of what it needs."""
    done = measured(measure, "copy", "--paths", "h2d-pinned", "--ranks", "1,2")
    assert done.code == 0 and [run["plan"]["ranks"] for run in done.of("run")] == [1]
    assert f"ranks 2 is left out: h2d-pinned: {NEEDS}\n" in done.err


@pytest.mark.slow
def test_a_file_that_shared_is_gone_on_with(measure: Measure) -> None:
    """Protects files of earlier versions: ranks shared GPUs unasked, and the file does not say more."""
    measured(measure, "pingpong", "--paths", "staged", "--between", "0,0")
    lines = [json.loads(line) for line in measure.out.read_text().splitlines()]
    lines[0]["plan"]["between"] = []
    measure.out.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = measured(measure, "pingpong", "--paths", "staged", "--sizes", "8,64", "--resume")
    assert done.code == 0 and [entry["bytes"] for entry in done.entries] == [8, 64], done.err


@pytest.mark.slow
def test_bounds_that_were_learnt_so(tmp_path: Path) -> None:
    """Protects acceptance tests of a machine whose only GPU two ranks shared."""
    site = '[[require]]\npath = "staged"\nsizes = {8 = "at most 1 s"}\n'
    (tmp_path / "site.toml").write_text(site)
    words = ("--measure", "--device", "emulated", "--out", tmp_path / "r.jsonl")
    done = wirespeed("check", "--require", tmp_path / "site.toml", *words, environment=ONE)
    # A busy machine may leave the interval too wide for a verdict.
    assert done.code in (0, 8) and '"kind":"entry"' in (tmp_path / "r.jsonl").read_text(), done.err


def test_inside_a_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects a job whose ranks somebody else has placed: only they know where they are."""
    done = measured(measure, "pingpong", inside=mpi)
    assert done.code == 0 and {entry["path"] for entry in done.entries} == {"host"}, done.err
    assert {failure["text"] for failure in done.failures} == {NEEDS}


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


def test_a_program_inside_a_launcher(mpi: InstalledMpi, one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects a job whose ranks somebody else has placed: only they know where they are."""
    done = measure("lbm", *SMALL, inside=mpi, environment=one_gpu)
    lines = [line for line in said(done) if line.startswith("wirespeed: ")]
    assert lines == [f"wirespeed: lbm: {WANTED}; ranks 0 and 1 share one"], done.err
    assert done.code != 0 and not measure.out.exists()


@pytest.mark.slow
def test_fields_in_host_memory_share_no_gpu(one_gpu: dict[str, str], measure: Measure) -> None:
    """Protects paths whose field the CPUs compute, beside those that are left out."""
    words = ("lbm", "--ranks", "2", "--paths", "host,staged", *SMALL)
    done = measure(*words, environment=one_gpu)
    assert {entry["path"] for entry in done.entries} == {"host"}
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("staged", "unavailable") and WANTED in failure["text"]
