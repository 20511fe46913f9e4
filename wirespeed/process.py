"""Small services of the operating system for processes that must not outlive their parent."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Makes the kernel end this process when its parent ends, even by SIGKILL."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def ancestors() -> Iterator[Path]:
    """The executables of this process's parents, nearest first, as far as they may be seen."""
    pid = os.getpid()
    while pid > 1:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pid = int(fields[1])
            yield Path(f"/proc/{pid}/exe").readlink()
        except (OSError, ValueError, IndexError):
            return


def cores() -> int:
    """Cores of this machine, without their threads."""
    import psutil

    return psutil.cpu_count(logical=False) or 1
