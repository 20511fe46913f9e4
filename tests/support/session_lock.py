"""A file that all workers of a session lock while a test runs: most tests together, some by themselves."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def _queue(file: Path) -> Path:
    """The file that is locked while its owner waits."""
    return file.with_name(f"{file.name}.queue")


@contextmanager
def hold(file: Path, *, alone: bool) -> Generator[None]:
    """Waits for the tests that are alone, or, to be alone, for all; nobody overtakes who waits.

    The kernel alone would let others share the file again and again, and `alone` would wait for minutes.
    """
    with file.open("w") as lock:
        with _queue(file).open("w") as queue:
            fcntl.flock(queue, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def remove(file: Path) -> None:
    """Removes what hold() has made, at the end of the session."""
    for made in (file, _queue(file)):
        made.unlink(missing_ok=True)
