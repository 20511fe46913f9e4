"""Processes: who started this one, on which CPUs others run, how they are ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError

_SPAN = re.compile(r"(\d+)(?:-(\d+))?")


def ancestors() -> Iterator[Path]:
    """The executables of this process's parents, nearest first, as far as they may be seen."""
    pid = os.getpid()
    while pid := parent(pid):
        try:
            yield Path(f"/proc/{pid}/exe").readlink()
        except OSError:
            return


def parent(pid: int) -> int:
    """The process that started this one, or has adopted it; 0 where there is none."""
    try:
        # The command's name, in brackets, may hold anything: the rest follows the last bracket.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def command_name(pid: int) -> str:
    """The name of the program that a process runs; '' when there is no such process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def cores() -> int:
    """Cores of this machine, without their threads."""
    import psutil

    return psutil.cpu_count(logical=False) or 1


def sweep_folders(prefix: str) -> None:
    """Removes the temporary folders PREFIX<pid>-... of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    """Lets processes that this thread starts run on these CPUs; none given: on its own. Raises OSError."""
    before = os.sched_getaffinity(0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        if cpus:
            os.sched_setaffinity(0, before)


def end(process: subprocess.Popen[Any]) -> None:
    """Ends another front end as Ctrl-C does: in order, its ranks with it; by force if it takes 20 s."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def last_line(said: str) -> str:
    """The last message of a front end on stderr, which says what went wrong; empty if there is none."""
    lines = [line for line in said.strip().splitlines() if not line.startswith("results: ")]
    return lines[-1].removeprefix("wirespeed: ") if lines else ""


def allowed_cpus(between: tuple[int, ...]) -> None:
    """Raises WirespeedError when --between names a CPU that this process may not run on."""
    for cpu in between:
        if cpu not in os.sched_getaffinity(0):
            raise WirespeedError(
                f"--between {','.join(map(str, between))}: this process may not run on CPU {cpu}; "
                f"allowed: {own_cpus()}"
            )


def own_cpus() -> str:
    """This process's CPUs as '0-3,8'."""
    return span(os.sched_getaffinity(0))


def cpu_list(text: str | None) -> tuple[int, ...]:
    """The kernel's '0-3,8' as numbers."""
    spans = _SPAN.findall(text or "")
    return tuple(number for first, last in spans for number in range(int(first), int(last or first) + 1))


def span(numbers: Iterable[int]) -> str:
    """Numbers as '0-3,8'."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)


def writable_temporary_folder() -> None:
    """Raises WirespeedError when TMPDIR names a folder where nothing can be made: an MPI needs one."""
    folder = os.environ.get("TMPDIR")
    if not folder:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="wirespeed-", dir=folder):
            return
    except OSError as error:
        raise WirespeedError(
            f"TMPDIR={folder}: MPI's launchers need a folder for their files, and nothing can be made there "
            f"({error.strerror}); name another one, or unset TMPDIR"
        ) from None
