"""Another place for a result file that was lost while it grew: removed, cut, replaced, or on a full disk."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MOST_NAMES = 100
"""Names that are tried in a folder."""


def write_elsewhere(lost: Path, content: bytes) -> tuple[Path, int] | None:
    """A new file with the content, and its descriptor, which appends; None: there is room for it nowhere.

    It lies beside the lost one if it can, else in the current folder, at home, or in a temporary folder.
    """
    for folder in _folders(lost):
        # Its own folder may be closed to others, which these are not.
        mode = 0o666 if folder == lost.parent else 0o600
        for number in range(2, _MOST_NAMES):
            name = folder / f"{lost.stem}-{number}{lost.suffix}"
            try:
                file = os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, mode)
            except FileExistsError:
                continue
            except OSError:
                break
            try:
                _write(file, content)
                return name, file
            except OSError:
                os.close(file)
                with suppress(OSError):
                    name.unlink()
                break
    return None


def _folders(lost: Path) -> Iterator[Path]:
    yield lost.parent
    yield Path()
    with suppress(RuntimeError):
        yield Path.home()
    with suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir())


def _write(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        if not (written := os.write(file, rest)):
            raise OSError("it takes no more")
        rest = rest[written:]
    to_disk(file)


def to_disk(file: int) -> None:
    """Forces a file to its disk, if it has one. Raises OSError."""
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
