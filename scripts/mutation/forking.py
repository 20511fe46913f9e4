"""Work done in copies of this process: each may hang, crash or fill the memory and harms no other."""

from __future__ import annotations

import ctypes
import math
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "mutants-"
PAUSE_S = 0.002
PR_SET_PDEATHSIG = 1
MEMORY = 2 << 30
"""Bytes that a copy may take on top of what this process has."""


@dataclass(frozen=True)
class Job:
    """What a copy does; what it returns comes back to this process."""

    act: Callable[[], object]
    seconds: float = math.inf
    """Of real time, until it is ended."""


@dataclass(frozen=True)
class Ended:
    """How a job's copy ended."""

    index: int
    value: object
    """What `act` has returned; None if it was killed or ran out of time."""


@dataclass(frozen=True)
class _Running:
    index: int
    folder: Path
    until: float


def run_all(jobs: Sequence[Job], at_once: int) -> Iterator[Ended]:
    """Runs so many at a time and gives each as it ends. Ends all when it is closed."""
    running: dict[int, _Running] = {}
    waiting = iter(enumerate(jobs))
    left = len(jobs)
    top = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        while left:
            while len(running) < at_once and (following := next(waiting, None)):
                index, job = following
                folder = top / str(index)
                folder.mkdir()
                running[_start(job, folder)] = _Running(index, folder, time.monotonic() + job.seconds)
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid in running:
                done = running.pop(pid)
                _kill(pid)
                left -= 1
                yield _ended(done)
                continue
            for late in [pid for pid, one in running.items() if time.monotonic() > one.until]:
                _kill(late)
            time.sleep(PAUSE_S)
    finally:
        for pid in running:
            _kill(pid)
        shutil.rmtree(top, ignore_errors=True)


def common_folder() -> Path:
    """The folder of this copy, of those that it is a copy of, and of their other copies."""
    folder = Path(tempfile.gettempdir())
    return next(one for one in reversed(folder.parents) if one.name.startswith(PREFIX))


def printed() -> str:
    """What this copy has printed so far."""
    sys.stdout.flush()
    return Path("/proc/self/fd/1").read_text(errors="replace")


def _kill(pid: int) -> None:
    """With all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _ended(done: _Running) -> Ended:
    """Raises RuntimeError where `act` has raised."""
    if (raised := done.folder / "raised").exists():
        raise RuntimeError(raised.read_text())
    value = done.folder / "value"
    found: object = pickle.loads(value.read_bytes()) if value.exists() else None
    shutil.rmtree(done.folder, ignore_errors=True)
    return Ended(done.index, found)


def _start(job: Job, folder: Path) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        with suppress(OSError):  # the copy has done it already, or has ended
            os.setpgid(pid, pid)
        return pid
    try:
        os.setpgid(0, 0)
        _settle(folder)
        value = job.act()
        (folder / "new").write_bytes(pickle.dumps(value))
        (folder / "new").rename(folder / "value")
    except RuntimeError as failure:
        (folder / "raised").write_text(str(failure))
    except BaseException:
        (folder / "raised").write_text(traceback.format_exc())
    finally:
        os._exit(0)


def _settle(folder: Path) -> None:
    """Output, temporary files and limits of its own; and it ends when its parent does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with (folder / "output").open("wb") as output, Path(os.devnull).open("rb") as nothing:
        for number, file in enumerate((nothing, output, output)):
            os.dup2(file.fileno(), number)
    os.environ |= {"TMPDIR": str(folder), "PYTEST_DEBUG_TEMPROOT": str(folder)}
    tempfile.tempdir = str(folder)
    os.environ["TEST_BUILDS"] = str(common_folder() / "builds")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
