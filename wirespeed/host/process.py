"""Small services of the operating system: who started this process, where others run, how they end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError


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


@contextmanager
def on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    """What this thread starts meanwhile runs on these CPUs; none: where it runs itself. Raises OSError."""
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
    """What went wrong with a front end: the last thing that it said on stderr; empty if nothing."""
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
    cpus = sorted(os.sched_getaffinity(0))
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)
