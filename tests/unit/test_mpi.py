"""What wirespeed tells an MPI before it starts ranks with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.host.mpi import Mpi, one_host_environment


def library(vendor: str, version: str) -> Mpi:
    return Mpi(vendor, version, Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), "given")


@pytest.fixture(autouse=True)
def no_choice_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def test_open_mpi_5_does_not_sleep_where_nobody_needs_it() -> None:
    assert one_host_environment(library("openmpi", "5.0.8")) == {"OMPI_MCA_btl": "^ofi"}
    for other in (library("openmpi", "4.1.6"), library("mpich", "5.0.0")):
        assert one_host_environment(other) == {}


def test_a_choice_of_transports_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects what a user or an administrator has set, and jobs that may span hosts."""
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    assert one_host_environment(library("openmpi", "5.0.8")) == {}
    monkeypatch.delenv("OMPI_MCA_btl")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert one_host_environment(library("openmpi", "5.0.8")) == {}
    monkeypatch.delenv("SLURM_JOB_ID")
    folder = tmp_path / ".openmpi"
    folder.mkdir()
    (folder / "mca-params.conf").write_text("btl = self,sm\n")
    assert one_host_environment(library("openmpi", "5.0.8")) == {}
