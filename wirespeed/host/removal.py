"""Folders of this user, removed by descriptor: never another user's, and however deep they are."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from itertools import count
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(folder: str | os.PathLike[str]) -> None:
    """Removes a folder with all that is in it. Raises OSError, for a link and what another user owns, too.

    What is deeper is moved up into the folder first: two descriptors are enough, and no recursion.
    """
    place = Path(folder)
    top = os.open(place, _FOLDER)
    try:
        status = _check_own(top, place)
        numbers = count()
        while entries := _entries(top):
            for name, is_folder in entries:
                if not is_folder:
                    _unlink(name, top)
                    continue
                inner = os.open(name, _FOLDER, dir_fd=top)
                try:
                    _check_own(inner, place, status.st_dev)
                    for child, is_folder in _entries(inner):
                        new = f".{os.getpid()}-{next(numbers)}"
                        if is_folder:
                            os.rename(child, new, src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            _unlink(child, inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
        now = place.lstat()
        if (now.st_dev, now.st_ino) == (status.st_dev, status.st_ino):
            place.rmdir()
    finally:
        os.close(top)


def try_to_remove_folder(folder: str | os.PathLike[str]) -> None:
    """The same as far as it can be done; what cannot stays."""
    with suppress(OSError):
        remove_folder(folder)


def _unlink(name: str, folder: int) -> None:
    """Its owner, who has not ended yet, may be quicker."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _entries(descriptor: int) -> list[tuple[str, bool]]:
    """Names in a folder, and which are folders themselves."""
    with os.scandir(descriptor) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _check_own(descriptor: int, folder: Path, device: int | None = None) -> os.stat_result:
    """Raises OSError for another user's folder, and for one of another file system."""
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or device not in (None, status.st_dev):
        raise PermissionError(errno.EPERM, "another user or file system has it, or a part of it", str(folder))
    return status
