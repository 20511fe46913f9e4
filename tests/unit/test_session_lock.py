"""The lock of tests that are to run by themselves (support/session_lock.py)."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread

import pytest
from support import session_lock

PATIENCE = 60.0


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "lock"
    yield file
    session_lock.remove(file)
    assert not [*tmp_path.iterdir()]


def waiting(file: Path, alone: bool, held: Event, leave: Event) -> Thread:
    """A thread that holds the lock until `leave`."""

    def run() -> None:
        with session_lock.hold(file, alone=alone):
            held.set()
            leave.wait(PATIENCE)

    thread = Thread(target=run)
    thread.start()
    return thread


def test_most_tests_run_together(file: Path) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(session_lock.hold(file, alone=False))


def test_nobody_overtakes_a_test_that_waits_to_be_alone(file: Path) -> None:
    """Protects the session from a worker that waits for as long as the tests of the others overlap."""
    alone, shared, leave = Event(), Event(), Event()
    with session_lock.hold(file, alone=False):
        first = waiting(file, True, alone, leave)
        while not _queued(file):
            assert first.is_alive()
        second = waiting(file, False, shared, leave)
        assert not shared.wait(0.2) and not alone.is_set()
    assert alone.wait(PATIENCE) and not shared.wait(0.2)
    leave.set()
    assert shared.wait(PATIENCE)
    for thread in (first, second):
        thread.join(PATIENCE)


def _queued(file: Path) -> bool:
    """Does anybody wait?"""
    with file.with_name("lock.queue").open("w") as queue:
        try:
            fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
