"""A changed module may delete or write what it must not: files outside of one folder are kept safe."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = {
    "os.chmod": (0, 2),
    "os.chown": (0, 3),
    "os.link": (1, 3),
    "os.mkdir": (0, 2),
    "os.remove": (0, 1),
    "os.rename": (0, 2),
    "os.rmdir": (0, 1),
    "os.symlink": (1, 2),
    "os.truncate": (0, None),
    "os.utime": (0, 3),
}
"""Python's audit events: where among their arguments the path is, and the folder that it starts from."""


def confine(folder: Path) -> None:
    """From now on and for good, this process changes no file outside of the folder: PermissionError."""
    top = os.path.realpath(folder)
    sys.dont_write_bytecode = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & _WRITING and not _device(path):
                check(os.path.realpath(path) if not isinstance(path, int) else path)
        elif event in _CHANGING:
            at, start = _CHANGING[event]
            check(arguments[at], arguments[start] if start is not None else -1)
            if event == "os.rename":
                check(arguments[1], arguments[3])

    def check(path: Any, start: int = -1) -> None:
        if isinstance(path, int):
            return  # it was opened under the same rule
        place = os.fsdecode(path)
        if start >= 0:
            place = str(Path(f"/proc/self/fd/{start}", place))
        parent = os.path.realpath(Path(place).parent)
        if not f"{parent}/".startswith(f"{top}/"):
            raise PermissionError(errno.EACCES, f"only {top} may be changed here", place)

    sys.addaudithook(hook)


def _device(path: Any) -> bool:
    """Writing to /dev/null and its like changes nothing."""
    try:
        return stat.S_ISCHR(Path(path).stat().st_mode)
    except (OSError, TypeError):
        return False
