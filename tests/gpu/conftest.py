"""Tests of what only a GPU shows: `make test-gpu`. Elsewhere they are skipped, and say why."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import Record

from wirespeed.host.core import NativeError, core

SUPPORT = Path(__file__).parents[1] / "support"
Ranks = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here needs two GPUs of one host: a path between two ranks on one GPU is another one."""
    try:
        count = core().device_count("cuda")
        why = f"it takes two CUDA devices, and there are {count}" if count < 2 else ""
    except NativeError as error:
        why = str(error).split("; ")[0]
    if why:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def mpi() -> mpis.InstalledMpi:
    found = mpis.find("openmpi")
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def prefix(mpi: mpis.InstalledMpi) -> Path:
    """Of the MPI that takes device pointers."""
    return mpi.prefix


@pytest.fixture
def ranks(mpi: mpis.InstalledMpi) -> Ranks:
    """Runs a script of tests/support on some ranks, one GPU each; what rank 0 printed, from its JSON."""

    def run(script: str, *words: str, count: int = 2, under: tuple[str, ...] = (), **variables: str) -> Any:
        if core().device_count("cuda") < count:
            pytest.skip(f"it takes {count} CUDA devices")
        command = [*under, *mpi.command(count, sys.executable, SUPPORT / script, *words)]
        environment = {**mpi.environment(), **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr
        if under:
            return done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    run.library = str(mpi.library)  # type: ignore[attr-defined]
    return run


def by_pattern_and_path(told: list[Record]) -> dict[tuple[str, str], list[Record]]:
    """What all_patterns.py told, cut where a path begins."""
    found: dict[tuple[str, str], list[Record]] = {}
    current: list[Record] = []
    for message in told:
        if message["kind"] == "begin":
            current = found.setdefault((message["pattern"], message["path"]), [])
        else:
            current.append(message)
    return found
