"""A program that ends when its parent does: `die_with_parent.py PARENT PROGRAM ...` becomes that program.

It asks the kernel for this after exec: code that runs between fork and exec (`preexec_fn`) can block for ever
on a lock that another thread of the parent held.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Makes the kernel end this process when its parent ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def dies_with_parent(command: Sequence[str]) -> list[str]:
    """The command, so that it ends with this process; its exit code is 127 where it cannot be started."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _become(parent: int, command: list[str]) -> None:
    die_with_parent()
    if os.getppid() != parent:
        sys.exit("its parent has ended")
    # Python ignores these two, and what it becomes would, too.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        name = "".join(letter if letter.isprintable() else " " for letter in command[0])
        os.write(2, f"{name}: {error.strerror}\n".encode())
        sys.exit(127)


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
