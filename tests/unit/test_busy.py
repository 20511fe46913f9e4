"""Tests that claim something about time: they neither blame a busy machine nor hide a fault behind one."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support import busy


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> int:
    """The one core that counts here: on a large machine a single loop is no load."""
    first = min(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {first})
    return first


def idle(monkeypatch: pytest.MonkeyPatch, taken: float = 0.0, uneven: float = 1.0) -> busy.Load:
    """Half a second in which others took so much of a core's time."""
    clock = iter((0.0, 0.5))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    spent = iter((100.0, 100.3 + taken * 0.5))
    ours = iter((7.0, 7.3))
    monkeypatch.setattr(busy, "_spent", lambda: next(spent))
    monkeypatch.setattr(busy, "_ours", lambda: next(ours))
    monkeypatch.setattr(busy, "_uneven", lambda: uneven)
    return busy.Load()


def test_a_machine_that_is_left_alone_is_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects timing tests from never failing: what the test itself used is not others' load."""
    load = idle(monkeypatch, taken=0.04)
    with pytest.raises(AssertionError, match="twice as long"):
        load.claim(False, "twice as long")


@pytest.mark.parametrize(
    ("taken", "uneven", "why"), [(0.5, 1.0, "others took 50%"), (0.0, 1.5, "1.50 times as long as at best")]
)
def test_a_busy_machine_is_one(
    taken: float, uneven: float, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = idle(monkeypatch, taken, uneven)
    with pytest.raises(pytest.skip.Exception, match=f"the machine is busy .*{why}.*twice as long"):
        load.claim(False, "twice as long")


def test_what_holds_is_not_skipped() -> None:
    busy.Load().claim(True, "holds")


def test_another_process_is_seen(core: int) -> None:
    """Protects the reading of the kernel's counters: a loop that nobody has waited for is others' load."""
    load = busy.Load()
    loop = subprocess.Popen(
        [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"]
    )
    try:
        time.sleep(0.5)
        assert "others took" in str(load._busy())
    finally:
        loop.kill()
        loop.wait()
