"""Tests of what only a GPU shows: `make test-gpu` on one GPU or several. Elsewhere they are skipped.

A test says how many GPUs it takes (`@pytest.mark.gpus(1)`; two without it). What two ranks show while they
share a GPU runs on one: slowly, since the driver lets their kernels take turns, but every byte is right.
GPU_TESTS_DEVICE=emulated GPU_TESTS_COUNT=N runs, on a machine without GPUs, what can run there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import Record

from wirespeed.errors import WirespeedError
from wirespeed.host.core import NativeError, core

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support"
DEVICE = os.environ.get("GPU_TESTS_DEVICE", "cuda")
Ranks = Callable[..., Any]


@cache
def devices() -> tuple[int, str]:
    """How many there are; and why there is none, if so."""
    if DEVICE == "emulated":
        os.environ["WIRESPEED_EMULATED"] = f"count={os.environ.get('GPU_TESTS_COUNT', '2')},threads=64"
    try:
        return core().device_count(DEVICE), ""
    except (NativeError, WirespeedError) as error:
        return 0, str(error).split("; ")[0]


def own(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if HERE in item.path.parents]


def why_not(item: pytest.Item) -> str:
    """Why this machine cannot show it; '': it can."""
    count, lack = devices()
    wanted = next((mark.args[0] for mark in item.iter_markers("gpus")), 2)
    if not count:
        return lack or "there is no CUDA device"
    if count < wanted:
        return f"it takes {wanted} CUDA devices, and there {'is' if count == 1 else 'are'} {count}"
    if DEVICE == "emulated" and item.get_closest_marker("nvidia"):
        return "only NVIDIA's driver shows it"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in own(items):
        if why := why_not(item):
            item.add_marker(pytest.mark.skip(reason=why))


def pytest_report_collectionfinish(items: Sequence[pytest.Item]) -> str:
    chosen = own(items)
    if not chosen:
        return ""
    run = [item for item in chosen if not why_not(item)]
    count, _ = devices()
    return f"GPU tests: {len(run)} of {len(chosen)} run on {count} {DEVICE} device{'s' * (count != 1)}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run of these tests alone in which nothing ran has shown nothing, and fails."""
    if session.config.option.collectonly or not session.items or len(own(session.items)) < len(session.items):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter
    if not any(reporter.stats.get(outcome) for outcome in ("passed", "failed", "error")):
        reporter.write_line(f"\nno GPU test ran: {why_not(session.items[0])}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def shared() -> bool:
    """Do two ranks share the only GPU?"""
    return devices()[0] < 2


@pytest.fixture(scope="session")
def mpi() -> mpis.InstalledMpi:
    found = mpis.find("openmpi")
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(scope="session")
def prefix(mpi: mpis.InstalledMpi) -> Path:
    """Of the MPI that takes device pointers."""
    return mpi.prefix


@pytest.fixture(scope="session")
def ranks(mpi: mpis.InstalledMpi) -> Ranks:
    """Runs a script of tests/support on some ranks; what rank 0 printed, from its JSON."""

    def run(script: str, *words: str, count: int = 2, under: tuple[str, ...] = (), **variables: str) -> Any:
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
