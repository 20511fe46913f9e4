"""Tests of what only a GPU shows: `make test-gpu` on one GPU or several. Elsewhere they are skipped.

A test says how many GPUs it takes (`@pytest.mark.gpus(1)`; two without it). What two ranks show while they
share a GPU runs on one: slowly, since the driver lets their kernels take turns, but every byte is right.
What is not marked `slow` is the first tier: each kernel and path once, in five minutes.
On a machine without GPUs, GPU_TESTS_DEVICE=emulated GPU_TESTS_COUNT=N runs what can run there, and
GPU_TESTS_COUNT=N alone, with --co, says what would run on N GPUs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import mpis
from support.command import Record, captured

from wirespeed.errors import WirespeedError
from wirespeed.host.core import NativeError, core

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support"
DEVICE = os.environ.get("GPU_TESTS_DEVICE", "cuda")
ORDER = (
    *("kernels", "one_gpu", "examples", "paths", "sanitizers"),
    *("ranks_per_gpu", "allocators", "health_and_faults"),
)
"""Of the files: first what tells most."""
Ranks = Callable[..., Any]
_LEFT = pytest.StashKey[list[pytest.Item]]()
"""Tests that were not begun, since the time was over."""
_BEGUN = pytest.StashKey[float]()


@cache
def devices() -> tuple[int, str]:
    """How many there are; and why there is none, if so."""
    given = os.environ.get("GPU_TESTS_COUNT")
    if DEVICE == "emulated":
        os.environ["WIRESPEED_EMULATED"] = f"count={given or 2},threads=64"
    elif given:
        return int(given), ""
    try:
        return core().device_count(DEVICE), ""
    except (NativeError, WirespeedError) as error:
        return 0, str(error).split("; ")[0]


def own(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if HERE in item.path.parents]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("GPU tests, in parts")
    group.addoption("--seconds", type=float, metavar="N", help="begin no GPU test after N seconds")
    group.addoption("--start-at", metavar="TEST", help="leave out the GPU tests before this one")


def short_name(item: pytest.Item) -> str:
    return item.nodeid.rpartition("/")[2]


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


def place(item: pytest.Item) -> tuple[bool, int]:
    file = item.path.stem.removeprefix("test_")
    return item.get_closest_marker("slow") is not None, ORDER.index(file)


# Last: what is left out by its mark, or by -k, is no test to start at.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    found = sorted(own(items), key=place)
    if start := config.getoption("--start-at", None):
        names = [short_name(item) for item in found]
        if start not in names:
            raise pytest.UsageError(f"--start-at {start}: no such test among the {len(found)} chosen")
        before, found = found[: names.index(start)], found[names.index(start) :]
        config.hook.pytest_deselected(items=before)
    others = [item for item in items if HERE not in item.path.parents]
    items[:] = others + found
    for item in found:
        if why := why_not(item):
            item.add_marker(pytest.mark.skip(reason=why))


def pytest_report_collectionfinish(items: Sequence[pytest.Item]) -> str:
    chosen = own(items)
    if not chosen:
        return ""
    run = [item for item in chosen if not why_not(item)]
    count, _ = devices()
    return f"GPU tests: {len(run)} of {len(chosen)} run on {count} {DEVICE} device{'s' * (count != 1)}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    session.config.stash[_LEFT] = []
    session.config.stash[_BEGUN] = time.monotonic()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """True: it counts as run, which it is not, and nothing is reported."""
    limit, stash = item.config.getoption("--seconds", None), item.config.stash
    if limit is None or time.monotonic() - stash[_BEGUN] < limit or not own([item]):
        return None
    stash[_LEFT].append(item)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Seconds of each part, by which a run is planned that does not fit into one call."""
    seconds, tests = defaultdict[str, float](float), Counter[str]()
    for report in (one for stats in terminalreporter.stats.values() for one in stats):
        if isinstance(report, pytest.TestReport) and "tests/gpu/" in report.nodeid and not report.skipped:
            name = report.nodeid.rpartition("/")[2].partition("[")[0]
            seconds[name] += report.duration
            tests[name] += report.when == "call"
    for name, total in seconds.items():
        if tests[name]:
            terminalreporter.write_line(f"{total:6.1f} s  {name}, {tests[name]} of them")
    if left := config.stash.get(_LEFT, []):
        words = f"--start-at '{short_name(left[0])}'"
        terminalreporter.write_line(f"{len(left)} GPU tests were not begun in time; they run with {words}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run of these tests alone in which nothing ran has shown nothing, and fails."""
    if session.config.option.collectonly or not session.items or len(own(session.items)) < len(session.items):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter
    if any(reporter.stats.get(outcome) for outcome in ("passed", "failed", "error")):
        return
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in reporter.stats.get("skipped", ())
    )
    why = reasons.most_common(1)[0][0] if reasons else "the time was over"
    reporter.write_line(f"\nno GPU test ran: {why}", red=True)
    session.exitstatus = pytest.ExitCode.TESTS_FAILED


def sharing() -> tuple[str, ...]:
    """What lets two ranks share the only GPU, if it is the only one."""
    return ("--ranks-per-gpu", "2") if devices()[0] < 2 else ()


@pytest.fixture(scope="session")
def shared() -> bool:
    """Do two ranks share the only GPU?"""
    return bool(sharing())


@pytest.fixture(scope="session")
def mpi() -> mpis.InstalledMpi:
    return mpis.installed("openmpi")


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
        done = captured(command, env=environment, timeout=280, ok=True)
        if under:
            return done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

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
