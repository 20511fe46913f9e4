"""Memory available for buffers."""

from __future__ import annotations

import resource
from pathlib import Path

from wirespeed.host.cgroup import memory_left

DEVICE_SHARE = 0.4
"""Share of a device's memory for each of two buffers; the libraries' own buffers need some, too."""
HOST_SHARE = 0.9
"""Share of the free memory that buffers may have: ranks and their libraries need some, too."""


RANK_MAPS = 512 << 20
"""Bytes of address space for all that a rank maps beside its buffers."""


def room_for_buffers(ranks: int, device_bytes: int, *, emulated: bool = False) -> int | None:
    """Bytes for each of a rank's two buffers; None if nobody knows. `ranks`: on this host, which share it.

    A path may stage device memory in host memory, of which `emulated` devices' memory is made, too.
    """
    free, mapped, parts = free_memory(), address_space(), 4 if emulated else 2
    rooms = [] if free is None else [int(HOST_SHARE * free) // (parts * ranks)]
    if mapped is not None:
        rooms.append(int(HOST_SHARE * mapped) // parts)
    if device_bytes:
        rooms.append(int(device_bytes * DEVICE_SHARE))
    return min(rooms, default=None)


def address_space() -> int | None:
    """Bytes that each rank can map for buffers (ulimit -v); None: no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else max(0, limit - RANK_MAPS)


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that processes here can still get; None if the system does not say."""
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    left = memory_left(root)
    return free if left is None else min(free, left)
