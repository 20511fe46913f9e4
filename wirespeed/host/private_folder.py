"""Folders that no other user can read, fill or replace: one per user, in shared memory or a temporary folder.

Their names can be foreseen, so another user may have planted a folder or a link there. Such a folder is never
used: owner and mode are those of an open descriptor, and files are made relative to it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wirespeed.errors import WirespeedError

SHARED_MEMORY = Path("/dev/shm")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_fallbacks: dict[tuple[int, Path], Path] = {}
_held: list[int] = []
"""Their descriptors, locked."""


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """Descriptor of a folder. Raises OSError where anybody else owns it or may open it."""
    descriptor = os.open(folder, _FOLDER)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(errno.EPERM, "another user owns this folder or may open it", str(folder))
        yield descriptor
    finally:
        os.close(descriptor)


def make(folder: Path) -> Path:
    """The folder itself, made if it is missing. Raises OSError where it is not private."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    with opened(folder):
        return folder


def create(folder: Path, name: str) -> int:
    """Descriptor of a new file; an old one of that name is removed. Raises OSError."""
    with opened(folder) as descriptor:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=descriptor)
        return os.open(name, _NEW_FILE, 0o600, dir_fd=descriptor)


def places() -> tuple[Path, ...]:
    """Folders in which private ones may lie, best first."""
    return SHARED_MEMORY, Path(os.environ.get("TMPDIR", "/tmp"))


def of_user() -> Path:
    """This user's folder; where others hold its name, a new one of this process alone."""
    for place in places():
        with suppress(OSError):
            return make(place / f"wirespeed-{os.geteuid()}")
    key = os.getpid(), places()[-1]
    if key not in _fallbacks:
        try:
            _fallbacks[key] = Path(tempfile.mkdtemp(prefix=f"wirespeed-{os.geteuid()}-", dir=key[1]))
        except OSError as error:
            raise WirespeedError(
                f"{key[1]}: {error.strerror}; name a folder for temporary files with TMPDIR"
            ) from None
        # As long as this process lives: its folder may be empty for a while.
        with suppress(OSError):
            _held.append(os.open(_fallbacks[key], _FOLDER))
            fcntl.flock(_held[-1], fcntl.LOCK_SH)
    return _fallbacks[key]


def remove_left(folder: Path) -> None:
    """Removes a folder that a process made for itself alone, if it is empty and the process has ended."""
    with suppress(OSError), opened(folder) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rmdir()


def all_of_user() -> list[Path]:
    """Every private folder of this user on this host, those of ended processes too."""
    found = []
    for place in dict.fromkeys(places()):
        for folder in place.glob(f"wirespeed-{os.geteuid()}*"):
            with suppress(OSError), opened(folder):
                found.append(folder)
    return found
