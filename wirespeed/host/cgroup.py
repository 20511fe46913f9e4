"""CPU time and memory that this process's control groups may use, and how long they were stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time, by the strictest of the groups that this process is in; None: no limit."""
    return min((quota for quota, _ in _quotas(root)), default=None)


@cache
def _throttle_counters(root: Path) -> tuple[Path, ...]:
    return tuple(folder / "cpu.stat" for _, folder in _quotas(root))


def throttled_s(root: Path = Path("/")) -> float:
    """Seconds, summed over CPUs, for which groups with a limit were stopped so far; 0 without a limit."""
    longest = 0.0
    for file in _throttle_counters(root):
        with suppress(OSError, ValueError):
            counts = dict(line.split() for line in file.read_text().splitlines())
            seconds = (
                int(counts.get("throttled_usec", 0)) * 1e-6 + int(counts.get("throttled_time", 0)) * 1e-9
            )
            longest = max(longest, seconds)
    return longest


def memory_left(root: Path = Path("/")) -> int | None:
    """Bytes that the strictest group still leaves, with what its files' pages would free; None: no limit."""
    return min(_left(root), default=None)


def _left(root: Path) -> Iterator[int]:
    for unified, folder in _groups(root, "memory"):
        names = ("max", "current") if unified else ("limit_in_bytes", "usage_in_bytes")
        # "max" is no number.
        with suppress(OSError, ValueError):
            limit, used = (int((folder / f"memory.{name}").read_text()) for name in names)
            told = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            files = int(told.get("inactive_file" if unified else "total_inactive_file", 0))
            yield max(0, limit - used + files)


def _quotas(root: Path) -> Iterator[tuple[float, Path]]:
    """(CPUs' worth of time, folder) of each group with a limit."""
    for unified, folder in _groups(root, "cpu"):
        with suppress(OSError, ValueError):
            if unified:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota = (folder / "cpu.cfs_quota_us").read_text()
                period = (folder / "cpu.cfs_period_us").read_text()
            if quota != "max" and int(quota) > 0:
                yield int(quota) / int(period), folder


def _groups(root: Path, controller: str) -> Iterator[tuple[bool, Path]]:
    """(version 2?, folder) of each group that this process is in."""
    lines: list[str] = []
    with suppress(OSError):
        lines = os.fsdecode((root / "proc/self/cgroup").read_bytes()).splitlines()
    for number, controllers, name in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if number != "0" and controller not in controllers.split(","):
            continue
        base = root / "sys/fs/cgroup" / (controllers if number != "0" else "")
        # A container may see the host's name of its group, but its own group's files at the top.
        for folder in (base, *(base / part for part in _parts(name))):
            yield number == "0", folder


def _parts(name: str) -> Iterator[str]:
    """'a', 'a/b' of '/a/b'."""
    words = [word for word in name.split("/") if word not in ("", "..")]
    for count in range(1, len(words) + 1):
        yield "/".join(words[:count])
