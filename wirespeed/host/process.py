"""Processes: who started this one, on which CPUs others run, how they are ended."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError

_SPAN = re.compile(r"(?<!\d)(\d{1,6})(?:-(\d{1,6}))?(?!\d)")
"""No machine has more CPUs than six digits count."""


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
    return int(stat[1]) if (stat := _stat(pid)) else 0


def siblings() -> Iterator[tuple[int, dict[str, str]]]:
    """Number and environment of each other process that this one's parent has started and that still runs."""
    own, own_parent = os.getpid(), os.getppid()
    for folder in Path("/proc").glob("[0-9]*"):
        if (pid := int(folder.name)) != own and parent(pid) == own_parent:
            with suppress(OSError):
                words = os.fsdecode((folder / "environ").read_bytes()).split("\0")
                yield pid, dict(word.split("=", 1) for word in words if "=" in word)


def process_state(pid: int) -> str:
    """The kernel's letter for a process's state; '' when there is no such process."""
    return stat[0] if (stat := _stat(pid)) else ""


def _stat(pid: int) -> list[str]:
    """What the kernel says of a process behind its name (proc_pid_stat(5)); empty when there is none."""
    with suppress(OSError):
        # The name, in brackets, may hold anything: the rest follows the last bracket.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def age() -> float:
    """Seconds since this process was started, its own and its loader's; 0 where the kernel does not say."""
    with suppress(IndexError, ValueError):
        began = int(_stat(os.getpid())[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - began, 0.0)
    return 0.0


def waited_for_cpu(pid: int) -> float:
    """Seconds that a process's first thread was ready to run and had no CPU; 0 where nobody counts.

    The second word is in nanoseconds (the kernel's scheduler/sched-stats.rst).
    """
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) * 1e-9
    return 0.0


def command_name(pid: int) -> str:
    """The name of the program that a process runs, printable; '' when there is no such process."""
    with suppress(OSError):
        return printable_name(Path(f"/proc/{pid}/comm").read_bytes().strip())
    return ""


def host_name() -> str:
    """This host's name, printable whatever it is."""
    return printable_name(os.fsencode(os.uname().nodename))


def printable_name(name: bytes) -> str:
    """A host's or a process's name, with escape sequences for what no terminal prints."""
    text = name.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else repr(text)[1:-1]


def process_namespace() -> str:
    """Namespace in which process numbers hold: another host's or container's are other processes."""
    return f"{host_name()} {Path('/proc/self/ns/pid').readlink()}"


def network_name() -> str:
    """Equal in processes whose loopback is the same."""
    found = os.uname().nodename
    with suppress(OSError):
        found += f" {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
        found += f" {Path('/proc/self/ns/net').readlink()}"
    return found


def clock_name() -> str:
    """Equal in processes that read the same monotonic clock."""
    found = host_name()
    for file in ("/proc/sys/kernel/random/boot_id", "/proc/self/timens_offsets"):
        with suppress(OSError):
            found += " " + " ".join(Path(file).read_text().split())
    return found


def longest_file() -> int | None:
    """Bytes that a file may have which this process or its children write; None: no limit (ulimit -f)."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def cores() -> int:
    """Cores of this machine, without their threads."""
    import psutil

    return psutil.cpu_count(logical=False) or 1


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


def move_threads(before: set[int], after: set[int], but: int = 0) -> None:
    """Moves this process's threads from these CPUs to those; threads that chose others themselves stay.

    `but`: the number of a thread that stays, too.
    """
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            number = int(thread.name)
            if number != but and os.sched_getaffinity(number) == before:
                os.sched_setaffinity(number, after)


def fewer_cpus() -> tuple[int, ...]:
    """This process's CPUs where it may not run on all of the machine's, as under taskset; else none."""
    own = os.sched_getaffinity(0)
    return tuple(sorted(own)) if len(own) < (os.cpu_count() or 1) else ()


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
