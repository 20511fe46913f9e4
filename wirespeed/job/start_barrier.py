"""Barrier for ranks that were started ahead of their turn: a lock that the front end holds.

A process that waits for a lock takes no time of a CPU, and all of them go on at the same moment.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from wirespeed.host import private_folder

_FILE = "start-barrier"


class StartBarrier:
    """The front end's side: shut from the beginning, until open()."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the job step's status pages."""
        self._lock = private_folder.create(private_folder.make(folder), _FILE)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def open(self) -> None:
        """Lets the ranks through. A second call does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def wait_until_open(folder: Path) -> None:
    """Comes back once it is open, or gone."""
    with suppress(FileNotFoundError):
        lock = os.open(folder / _FILE, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.close(lock)
