"""Shared memory that a killed MPI job leaves behind, found and removed by the front end."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_FOLDER = Path("/dev/shm")
_NAMES = ("mpich_shm_*", "vader_segment*", "sm_segment*", "Intel_MPI_*", "ucx_shm_*", "nccl-*")


def segments() -> set[Path]:
    """Segments of MPI libraries that belong to this user."""
    found: set[Path] = set()
    for pattern in _NAMES:
        for path in _FOLDER.glob(pattern):
            with suppress(OSError):
                if path.stat().st_uid == os.getuid():
                    found.add(path)
    return found


def remove_new(before: set[Path]) -> None:
    """Removes what has appeared since `before` was taken and no process maps any more."""
    fresh = segments() - before
    if not fresh:
        return
    mapped = _mapped()
    for path in fresh:
        if str(path) not in mapped:
            with suppress(OSError):
                path.unlink()


def _mapped() -> set[str]:
    found: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            found.update(line.split()[-1] for line in maps.read_text().splitlines() if " /dev/shm/" in line)
    return found
