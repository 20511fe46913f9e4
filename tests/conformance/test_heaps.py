"""NVSHMEM and GASNet over stand-ins: one-sided operations, ranks without MPI, and what their paths refuse."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conformance.test_libraries import SUBJECTS, Subject
from ranks.test_without_mpi import ended, started
from support.builds import compiler
from support.command import Measure
from support.mpis import InstalledMpi
from support.shim import fake_nvshmem

from wirespeed.host.libraries import _LOADED

pytestmark = pytest.mark.slow

FAST = ("--max-time", "0.02")
COMMAND = ("pingpong", "--paths", "shmem", "--device", "emulated")


@pytest.fixture(scope="module")
def shmem(builds: Path) -> dict[str, str]:
    """The environment in which the stand-in is found, with a GPU for each of three ranks."""
    return {"PYTHONPATH": str(fake_nvshmem(builds)), "WIRESPEED_EMULATED": "count=3"}


def test_one_sided_operations(mpi: InstalledMpi, shmem: dict[str, str], measure: Measure) -> None:
    """Protects puts and gets without a signal: complete before the next, and every byte where it belongs.

    The stand-in moves nothing before the quiet. NVSHMEM's host library has no fetch-and-add: one line.
    """
    words = ("--paths", "shmem", "--device", "emulated", "--mpi", mpi.mpiexec, *FAST, "--sizes", "1,4097,64K")
    done = measure("rma", *words, "--operation put,get,fetch-add", environment=shmem)
    assert done.code == 0, "what a list names is measured where it can be"
    assert [entry["bytes"] for entry in done.entries] == [1, 4097, 1 << 16] * 2
    assert {entry["details"]["call"].partition(",")[0] for entry in done.entries} == {
        "nvshmemx_putmem_on_stream",
        "nvshmemx_getmem_on_stream",
    }
    (failure,) = done.failures
    assert failure["what"] == "unavailable"
    assert "fetch-and-add is not offered by NVSHMEM's host library" in failure["text"]


@pytest.mark.parametrize("operation", ["put", "get"])
def test_a_fault_in_a_one_sided_operation_is_found(
    shmem: dict[str, str], operation: str, measure: Measure
) -> None:
    """Protects the check of what no message accompanies."""
    words = ("--paths", "shmem", "--device", "emulated", *FAST, "--sizes", "4097", "--operation", operation)
    done = measure("rma", *words, "--test fault=drop-byte", environment=shmem)
    assert done.code == 1 and not done.entries
    assert "wrong data" in done.failures[0]["text"]


def refusal(measure: Measure, environment: dict[str, str], *arguments: str) -> str:
    """The one line for a path that the machine lacks something for."""
    done = measure(*arguments, *FAST, "--sizes 8", environment=environment)
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("shmem", "unavailable"), failure
    return str(failure["text"])


def library_in(packages: Path) -> Path:
    """Where that of NVSHMEM lies in a folder of packages."""
    (folder := packages / "nvidia/nvshmem/lib").mkdir(parents=True)
    return folder / "libnvshmem_host.so.3"


def test_without_the_library(measure: Measure, tmp_path: Path) -> None:
    """Protects the line that says what to install."""
    library_in(tmp_path).write_text("no library")
    text = refusal(measure, {"PYTHONPATH": str(tmp_path)}, *COMMAND)
    # What `wirespeed paths` says on a machine without, ranks say in the same words.
    file, remedy = _LOADED["nvshmem"]["cuda"]
    assert text.endswith(f"{file} not found ({remedy})")


def test_a_gpu_shared_by_two_ranks(shmem: dict[str, str], measure: Measure) -> None:
    """Protects from streams of one GPU that wait for each other for ever."""
    text = refusal(measure, shmem | {"WIRESPEED_EMULATED": "count=1"}, *COMMAND, "--ranks-per-gpu 2")
    assert "ranks 0 and 1 share a GPU, and NVSHMEM needs one for each rank" in text


def test_a_real_library_without_a_gpu(measure: Measure, tmp_path: Path) -> None:
    """Protects the process from a library that ends it where there is no GPU: it is not even asked."""
    source = tmp_path / "deadly.cpp"
    source.write_text('#include <cstdlib>\nextern "C" int nvshmemx_get_uniqueid(void*) { std::abort(); }\n')
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", library_in(tmp_path), source], check=True)
    text = refusal(measure, {"PYTHONPATH": str(tmp_path)}, *COMMAND)
    assert "NVSHMEM needs an NVIDIA GPU" in text


QUICK = ("--device", "cpu", "--max-time", "0.02")


@pytest.fixture
def stand_in(builds: Path, session_builds: Path) -> Subject:
    return SUBJECTS["gasnet"](builds, session_builds)


def test_without_mpi(stand_in: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects ranks that torchrun started: a conduit with a master process needs no MPI.

    That process is this Python, which must find its modules from a folder where another one's lie below lib.
    """
    out = tmp_path / "r.jsonl"
    words = ("pingpong", "--paths", "gasnet", "--sizes", "8,64K", *QUICK)
    monkeypatch.chdir("/")
    first, second = ended(started(2, *words, out=out, before=(), **stand_in.environment), out)
    assert first.code == second.code == 0, first.err
    assert [entry["bytes"] for entry in first.entries] == [8, 1 << 16]


@pytest.mark.parametrize(
    ("environment", "words", "why"),
    [
        ({}, (), "no conduit of GASNet was built; 'wirespeed paths --build gasnet --with PREFIX' builds"),
        ({}, ("--test", "conduit=ibv"), "GASNet's conduit ibv was not built"),
        ({"FAKE_GASNET_FAILS": "1"}, (), "gex_Client_Init(udp): Problem with requested resource"),
    ],
    ids=["nothing-built", "not-this-one", "no-start"],
)
def test_where_there_is_none(
    stand_in: Subject,
    environment: dict[str, str],
    words: tuple[str, ...],
    why: str,
    measure: Measure,
    tmp_path: Path,
) -> None:
    """Protects the one line that says why."""
    data = stand_in.environment if environment else {"XDG_DATA_HOME": str(tmp_path)}
    done = measure("pingpong --paths gasnet --sizes 8", *QUICK, *words, environment={**data, **environment})
    (failure,) = done.failures
    assert why in failure["text"] and "\n" not in failure["text"], failure
