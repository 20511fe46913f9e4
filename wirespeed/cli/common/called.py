"""Commands as somebody may copy them: with the wirespeed and the mpiexec that ran, wherever they are."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from wirespeed.host.mpi import Mpi


def wirespeed() -> str:
    """What starts this wirespeed again: 'wirespeed', '.venv/bin/wirespeed', 'python3 -m wirespeed'."""
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        return f"{named(Path(sys.executable))} -m wirespeed"
    return named(script)


def launcher(mpi: Mpi) -> str:
    """Its mpiexec, and for root what Open MPI's asks for."""
    asks = "OMPI_ALLOW_RUN_AS_ROOT" in mpi.environment().keys() - os.environ.keys()
    return named(mpi.mpiexec) + " --allow-run-as-root" * asks


def named(program: Path) -> str:
    """A program as a shell finds it: by its name if PATH leads to it, else by its path from here."""
    found = shutil.which(program.name)
    if found and Path(found).resolve() == program.resolve():
        return program.name
    path = os.path.relpath(program) if program.absolute().is_relative_to(Path.cwd()) else str(program)
    return shlex.quote(path if os.sep in path else f"./{path}")
