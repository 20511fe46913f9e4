"""A path is listed as available only where the library that it opens is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirespeed.frontend.machine import Machine
from wirespeed.host.mpi import Mpi
from wirespeed.paths import find_path


@pytest.mark.parametrize(
    ("vendor", "files", "lacks"),
    [
        ("openmpi", ("liboshmem.so.40",), None),
        ("openmpi", (), "Open MPI 5.0.11 was built without OpenSHMEM: no {lib}/liboshmem.so.40"),
        ("mpich", ("liboshmem.so.40",), "OpenSHMEM comes with Open MPI, and the MPI in use is MPICH 5.0.11"),
    ],
)
def test_openshmem(vendor: str, files: tuple[str, ...], lacks: str | None, tmp_path: Path) -> None:
    """Protects from a path that is called available and fails when it is measured."""
    for name in files:
        (tmp_path / name).touch()
    mpi = Mpi(vendor, "5.0.11", tmp_path, tmp_path / "mpiexec", tmp_path / "libmpi.so.40", "given")
    machine = Machine("host", [], [mpi], {})
    assert machine.lacks(find_path("oshmem")) == (lacks and lacks.format(lib=tmp_path))
    assert machine.lacks(find_path("host")) is None
    assert "no MPI found" in str(Machine("host", [], [], {}).lacks(find_path("oshmem")))
