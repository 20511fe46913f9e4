"""What ranks find lacking: told once, by those whom it concerns, and no failure of the run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import Measure, captured, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.stand_ins import fake_driver

SCRIPT = Path(__file__).parents[1] / "support" / "refusing_ranks.py"
NO_LIBRARY = {"WIRESPEED_LIBRARY_NVSHMEM": "/nowhere/libnvshmem_host.so.3"}


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_what_ranks_find_lacking_is_no_failure(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects exit code 0 and the single line of a machine without an optional library."""
    done = measure(
        "pingpong --paths host,shmem --device emulated --sizes 8 --max-time 0.02",
        mpi=mpi,
        environment=NO_LIBRARY,
    ).ok()
    assert [entry["path"] for entry in done.entries] == ["host"]
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("shmem", "unavailable")
    assert done.records[-1]["failures"] == 0
    for text in (done.out, wirespeed("show", measure.out).out):
        words = " ".join(text.split())
        assert words.count(f"shmem: not available: {failure['text']}") == words.count("libnvshmem") == 1


# As in a container that forbids CMA: no component is left that takes the ranks' windows.
NO_WINDOWS = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_osc": "^ucx,pt2pt"}


@pytest.mark.parametrize("mpi", ["debian"], indirect=True)
def test_an_mpi_without_windows(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects one-sided paths on Open MPI 4, which may have no component that opens a window."""
    words = ("pingpong", "--paths", "host,rma-host", "--device", "cpu", "--mpi", mpi.mpiexec)
    done = measure(*words, "--sizes 8 --max-time 0.02", environment=NO_WINDOWS).ok()
    assert [entry["path"] for entry in done.entries] == ["host"]
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("rma-host", "unavailable")
    assert "MPI_ERR_WIN" in failure["text"] and failure["text"].endswith("or another MPI with --mpi")
    assert " ".join(done.out.split()).count("rma-host: not available: ") == 1


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("named", [False, slow_case(True)], ids=["wildcard", "named"])
def test_an_mpi_that_says_no_is_handed_no_device_pointer(
    named: bool, mpi: InstalledMpi, measure: Measure, builds: Path
) -> None:
    """Protects `mpirun wirespeed pingpong` on GPUs: Open MPI's wheel ends the job on one. This driver's
    pointers are the host's, so that what is handed over all the same gives figures."""
    words = ("--paths", "host,aware" if named else "host,aware*", "--device", "cuda")
    done = measure(
        *("pingpong", *words, "--sizes 8 --max-time 0.02"),
        before=mpi.command(2),
        environment={**mpi.variables, **fake_driver(builds, "cuda")},
    )
    assert done.code == 0, done.err + done.out
    assert {entry["path"] for entry in done.entries} == ({"host", "aware"} if named else {"host"})
    (text,) = {failure["text"] for failure in done.failures if failure["path"] == "aware"} or {""}
    assert ("says that it takes no device pointers" in text) != named


LACK, OTHER = ["no such library", True], ["no room", False]
CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "nobody": ([None, None], []),
    "everybody lacks it": ([LACK, LACK], ["no such library", "unavailable"]),
    "one lacks it": ([None, LACK], ["rank 1: no such library", "unavailable"]),
    "each lacks something else": ([LACK, ["no driver", True]], ["rank 0: no such library", "unavailable"]),
    "an error of all": ([OTHER, OTHER], ["rank 0: no room", "error"]),
    "an error that names its rank": ([None, ["rank 0: no room", False]], ["rank 0: no room", "error"]),
}


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_what_every_rank_lacks_is_nobodys(mpi: InstalledMpi) -> None:
    """Protects the one line, which all ranks must agree on: what is nowhere is not rank 0 alone to blame for.

    A rank that did not fail takes back what it has made, and no other one does.
    """
    fails = json.dumps([each for each, _ in CASES.values()])
    done = captured(mpi.command(2, sys.executable, SCRIPT, fails), env=mpi.environment(), ok=True)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for rank in (0, 1):
        expected = [[*known, each[rank] is None] if known else [] for each, known in CASES.values()]
        assert json.loads(lines[str(rank)]) == expected
