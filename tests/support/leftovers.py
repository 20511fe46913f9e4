"""Finds what a test has left behind: ranks and launchers still running, pages in shared memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "WIRESPEED_TEST_SESSION"
"""Every process started by a test inherits this variable with the session's own value."""

_LAUNCHERS = (
    *("mpiexec", "mpirun", "mpiexec.hydra", "hydra_pmi_proxy", "hydra_bstrap_proxy"),
    *("prterun", "prted", "orted"),
)
_COMMANDS = ("/wirespeed/rank", "/wirespeed/cli", "/bin/wirespeed")
PATIENCE = 60.0
"""Seconds that a launcher may take to tidy up after its ranks, on however busy a machine."""


@dataclass(frozen=True)
class Left:
    """A process or a file that should be gone."""

    what: str
    pid: int = 0
    folder: Path | None = None


_earlier = set[tuple[str, int]]()
"""Processes that ran before the session: a machine has hundreds, and each test would ask them twice."""


def mark_session() -> None:
    os.environ[MARK] = f"{os.getpid()}-{time.time_ns()}"
    _earlier.update((entry.name, entry.inode()) for entry in os.scandir("/proc"))


def _later() -> Iterator[Path]:
    """Processes that have begun since then, also with the number of an earlier one."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and (entry.name, entry.inode()) not in _earlier:
            yield Path(entry.path)


def _marked(process: Path) -> bool:
    """Was it started by this session? Its variables say so, where they may be read."""
    with suppress(OSError):
        return f"{MARK}={os.environ[MARK]}".encode() in (process / "environ").read_bytes().split(b"\0")
    return False


def _another_s(folder: Path) -> bool:
    """Is it in use by a process of somebody else, a second test session say?"""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{folder}/".encode() in (process / "maps").read_bytes() and not _marked(process):
                return True
    return False


def _ours(process: Path) -> Left | None:
    """A launcher or a rank of this session."""
    if not _marked(process):
        return None
    with suppress(OSError, ValueError):
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        if Path(words[0]).name in _LAUNCHERS or any(word.endswith(_COMMANDS) for word in words):
            pid = int(process.name)
            return None if pid == os.getpid() else Left(f"process {pid}: {' '.join(words)[:200]}", pid)
    return None


def look() -> set[Left]:
    """What there is now."""
    processes = map(_ours, _later())
    folders = Path("/dev/shm", f"wirespeed-{os.getuid()}").glob("*")
    return {left for left in processes if left} | {Left(str(folder), folder=folder) for folder in folders}


def own(before: set[Left]) -> set[Left]:
    """What has come since and is this session's: tests beside this one make folders all the time."""
    return {left for left in look() - before if not (left.folder and _another_s(left.folder))}


def left_since(before: set[Left]) -> list[Left]:
    """What has come since and does not go away by itself."""
    began = time.monotonic()
    while new := own(before):
        if time.monotonic() - began > PATIENCE:
            break
        time.sleep(0.05)
    return sorted(new, key=lambda left: left.what)


def remove(found: list[Left]) -> None:
    """Ends the processes, so that the next test starts clean."""
    for left in found:
        if left.pid:
            with suppress(ProcessLookupError):
                os.kill(left.pid, signal.SIGKILL)
