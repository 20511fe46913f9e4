"""Memory available for buffers."""

from __future__ import annotations

from pathlib import Path

DEVICE_SHARE = 0.4
"""Share of a device's memory for each of two buffers; the libraries' own buffers need some, too."""
HOST_SHARE = 0.9
"""Share of the free memory that buffers may have: ranks and their libraries need some, too."""


def room_for_buffers(ranks: int, device_bytes: int, *, emulated: bool = False) -> int | None:
    """Bytes for each of a rank's two buffers; None if nobody knows. `ranks`: on this host, which share it.

    A path may stage device memory in host memory, of which `emulated` devices' memory is made, too.
    """
    free = free_memory()
    rooms = [] if free is None else [int(HOST_SHARE * free) // ((4 if emulated else 2) * ranks)]
    if device_bytes:
        rooms.append(int(device_bytes * DEVICE_SHARE))
    return min(rooms, default=None)


def free_memory() -> int | None:
    """Bytes that processes here can still get; None if the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):
        return free
    return min(free, max(0, limit - used))
