"""The CPU time that this process's control group may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time, by the strictest of the groups that this process is in; None: no limit."""
    return min(_quotas(root), default=None)


def _quotas(root: Path) -> Iterator[float]:
    lines: list[str] = []
    with suppress(OSError):
        lines = os.fsdecode((root / "proc/self/cgroup").read_bytes()).splitlines()
    for number, controllers, name in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if number != "0" and "cpu" not in controllers.split(","):
            continue
        base = root / "sys/fs/cgroup" / (controllers if number != "0" else "")
        # A container may see the host's name of its group, but its own group's files at the top.
        for folder in (base, *(base / part for part in _parts(name))):
            with suppress(OSError, ValueError):
                if number == "0":
                    quota, period = (folder / "cpu.max").read_text().split()
                else:
                    quota = (folder / "cpu.cfs_quota_us").read_text()
                    period = (folder / "cpu.cfs_period_us").read_text()
                if quota != "max" and int(quota) > 0:
                    yield int(quota) / int(period)


def _parts(name: str) -> Iterator[str]:
    """'a', 'a/b' of '/a/b'."""
    words = [word for word in name.split("/") if word not in ("", "..")]
    for count in range(1, len(words) + 1):
        yield "/".join(words[:count])
