"""Tests of pure parts start no ranks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_MPI_LAUNCHERS = ("mpiexec", "mpirun", "srun")
_guarded: list[str] = []
"""The test that runs, if it must start no ranks."""


def _refuse_ranks(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: Python tells it what is about to be started."""
    if event != "subprocess.Popen" or not _guarded:
        return
    words = [str(word) for word in arguments[1]] if isinstance(arguments[1], (list, tuple)) else []
    program = Path(words[0] if words else str(arguments[0]))
    real = Path(sys.prefix, "mpi") in program.parents or program.parent == Path("/usr/bin")
    launches = real and program.name in _MPI_LAUNCHERS and {"-n", "-np"} & set(words)
    if launches or words[1:4] == ["-I", "-m", "wirespeed"]:
        raise AssertionError(f"{_guarded[0]} starts {program.name}: put it into tests/processes")


sys.addaudithook(_refuse_ranks)


@pytest.fixture(autouse=True)
def no_ranks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keeps `make unit` short, and free of whatever starts processes that measure."""
    _guarded.append(request.node.nodeid)
    yield
    _guarded.clear()
