"""The limit of messages through memory is measured: it must be the machine's, not Python's."""

from __future__ import annotations

import os
import timeit
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.host.caches import cache_bytes
from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.observe import cpu_wait, memory_bandwidth, wire_counting
from wirespeed.rank.path import open_path
from wirespeed.rank.path.size_run import SizeResult
from wirespeed.rank.ranges import Ranges


def test_rates_of_one_core() -> None:
    """Protects the limit from the interpreter's own time, and from a buffer that was never touched."""
    rates = memory_bandwidth.memory_rates()
    assert rates is not None and set(rates) == {"reading from memory", "writing to memory"}
    # No core of today's reads a terabyte a second.
    assert all(0 < low <= rate <= high < 1e12 for rate, low, high in rates.values()), rates
    # Byte by byte, Python takes a hundred times as long anywhere: the fastest of each, and a factor of three.
    part = bytes(1 << 18)
    python = len(part) / min(timeit.repeat(lambda: sum(part), number=1, repeat=5))
    assert all(high > 3 * python for _, _, high in rates.values()), (rates, python)


def test_the_buffer_is_larger_than_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the limit from being that of a cache: no part is touched again while it can still be there."""
    caches, seen = 40 << 20, []
    monkeypatch.setattr(memory_bandwidth, "SWEEP", 4 << 20)
    monkeypatch.setattr(memory_bandwidth, "MIN_BUFFER", 8 << 20)
    monkeypatch.setattr(memory_bandwidth, "cache_bytes", lambda: caches)
    monkeypatch.setattr("ctypes.memset", lambda place, *_: seen.append(place))
    assert memory_bandwidth.memory_rates() is not None
    parts = len(set(seen))
    assert parts == len(seen) == 12 and max(seen) - min(seen) >= 11 * (4 << 20)


@pytest.mark.parametrize(
    ("carried", "expected", "measured"), [(0.0, 5e9, 1), (4e9, 5e9, 1), (6.4e9, 10e9, 2), (20e9, 11e9, 3)]
)
def test_a_slow_moment_is_no_limit(
    carried: float, expected: float, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects figures from a limit that they have just passed, because memory was slow when it was timed."""
    moments = iter([(5e9, 4.8e9, 5.7e9), (10e9, 9e9, 10.5e9), (11e9, 10e9, 12e9)])
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    best = memory_bandwidth._at_best(lambda: next(moments), carried)
    assert best[0] == expected and waits == [memory_bandwidth.APART_S] * (measured - 1)


def test_what_sizes_beyond_the_caches_have_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the limit from what caches carry, which memory need not."""
    monkeypatch.setattr(open_path, "cache_bytes", lambda: 1 << 20)
    context = SimpleNamespace(pattern=find_pattern("pingpong"), shape=Shape(2))
    opened: Any = (context, None, None, None, None, None)
    path = open_path.OpenPath(*opened)
    assert path._carried() == 0
    path._measured = {8: SizeResult("", 1e-6), 1 << 20: SizeResult("", 1e-5), 1 << 30: SizeResult("", 0.25)}
    assert path._carried() == 2 * (1 << 30) / 0.25


def test_caches_of_one_core(tmp_path: Path) -> None:
    """Protects the sum: data and unified caches of every level, no instructions; None without sysfs."""
    core = min(os.sched_getaffinity(0))
    levels = [("Data", "48K"), ("Instruction", "64K"), ("Unified", "2048K"), ("Unified", "30M"), ("", "odd")]
    for number, (kind, size) in enumerate(levels):
        folder = tmp_path / f"cpu{core}" / "cache" / f"index{number}"
        folder.mkdir(parents=True)
        (folder / "type").write_text(f"{kind}\n")
        (folder / "size").write_text(f"{size}\n")
    assert cache_bytes(tmp_path) == (48 + 2048 + 30 * 1024) << 10
    assert cache_bytes(tmp_path / "none") is None


def test_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a machine that is short of memory from the measurement."""
    monkeypatch.setattr(memory_bandwidth, "free_memory", lambda: 1 << 20)
    assert memory_bandwidth.memory_rates() is None


def test_ranks_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects busy hosts, whose memory takes longer than any message, from being taken to hang."""
    stages: list[float] = []

    class Counting:
        able = True

        def __init__(self, *_: object) -> None: ...

        def wires(self, carried: float) -> list[Any]:
            assert carried == 0
            assert stages and stages[-1] > memory_bandwidth.MOVED / 50e6
            return []

    monkeypatch.setattr(wire_counting, "WireCounting", Counting)
    watchdog = SimpleNamespace(stage=lambda path, size, seconds: stages.append(seconds))
    alone = SimpleNamespace(rank=0, share=lambda value: value)
    told = {"plan": Plan(), "tell": lambda message: None, "ranges": Ranges(), "comm": alone}
    context = SimpleNamespace(**told, pattern=find_pattern("pingpong"), shape=Shape(2), time=None)
    buffers = SimpleNamespace(needed=lambda size: 0)
    opened: Any = (context, watchdog, SimpleNamespace(name="host"), None, buffers, None)
    monkeypatch.setattr(
        open_path.OpenPath, "_size_run", lambda *_: SimpleNamespace(count=lambda counting, seconds: None)
    )
    open_path.OpenPath(*opened)._count([8], Counting())  # type: ignore[arg-type]
    assert stages


def test_no_rank_waits_longer_than_it_was_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the share of the time without a CPU, whose two clocks differ by little: 101 % is none."""
    clock = iter((0.0, 1.02))
    monkeypatch.setattr(cpu_wait, "_waited", lambda: next(clock))
    wait = cpu_wait.CpuWait()
    monkeypatch.setattr("time.monotonic", iter((5.0, 6.0, 7.0)).__next__)
    with wait.timed():
        pass
    alone: Any = SimpleNamespace(
        maximum=lambda share: share, first=lambda found: (0, found), everyone=lambda use: [use]
    )
    assert wait.worst(alone)["waited"] == 1.0
