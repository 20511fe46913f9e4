"""Paths that differ by what the environment tells MPI as it starts are that path or nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Measure
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import aware

WORDS = ("--device", "emulated", "--sizes", "1,4097", "--max-time", "0.02")
UCX_WITH_CUDA = "libuct_cuda.so.0"


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_the_switch_is_set_for_its_path_alone(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects aware-nogdr's way to success, and the other paths from its switch."""
    prefix = aware(builds, mpi, needs=UCX_WITH_CUDA)
    done = measure(
        "pingpong --mpi", prefix, "--paths aware-nogdr,aware", *WORDS, environment=mpi.variables
    ).ok()
    assert [entry["path"] for entry in done.entries] == ["aware-nogdr"] * 2 + ["aware"] * 2
    switched, other = done.of("step")
    assert switched["variables"]["UCX_TLS"] == "^cuda_ipc"
    assert "UCX_TLS" not in other["variables"]


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_an_mpi_that_the_switch_means_nothing_to(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects the table from a second `aware` under another name: no UCX with CUDA, no figure."""
    prefix = aware(builds, mpi)
    done = measure(
        "pingpong --mpi", prefix, "--paths aware-nogdr,aware", *WORDS, environment=mpi.variables
    ).ok()
    assert {entry["path"] for entry in done.entries} == {"aware"}
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("aware-nogdr", "unavailable")
    # Ranks found that before any device pointer was tried: the MPI is not blamed for one, nor replaced.
    lack = "libuct_cuda is not loaded, so that UCX_TLS has no effect here"
    assert re.fullmatch(rf"MPICH \S+: {lack}", failure["text"]) and failure["remedy"] is None


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_too_late_inside_a_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects what `mpirun wirespeed` measures from a switch that comes after MPI's start."""
    done = measure("pingpong --paths host,aware-nogdr", *WORDS, inside=mpi).ok()
    assert {entry["path"] for entry in done.entries} == {"host"}
    (failure,) = done.failures
    assert (failure["path"], failure["what"]) == ("aware-nogdr", "unavailable")
    assert failure["text"] == "start the ranks with UCX_TLS=^cuda_ipc for this path"


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_in_time_inside_a_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects those who do set it: then it is not missing, and only UCX itself may be."""
    done = measure(
        "pingpong --paths host,aware-nogdr", *WORDS, inside=mpi, environment={"UCX_TLS": "^cuda_ipc"}
    ).ok()
    (failure,) = done.failures
    assert failure["text"] == "libuct_cuda is not loaded, so that UCX_TLS has no effect here"
