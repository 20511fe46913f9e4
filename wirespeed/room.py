"""How much memory a rank's buffers may take without driving others, or itself, out of memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wirespeed.native import Core
    from wirespeed.world import World

DEVICE_SHARE = 0.4
"""Of a device's memory, for each of two buffers; the libraries' own buffers need some, too."""


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


def buffer_room(core: Core, world: World, device: Any) -> int | None:
    """Bytes for each of a rank's two buffers, the least of all ranks; None if nobody knows.

    Host memory is shared by the ranks of a host, and a path may stage device memory in it.
    """
    rooms = []
    if (free := free_memory()) is not None:
        rooms.append(free // (2 * world.neighbours()))
    else:
        world.neighbours()
    if size := int(core.identity(device).get("bytes") or 0):
        rooms.append(int(size * DEVICE_SHARE))
    unknown = 1 << 62
    least = world.minimum(min(rooms, default=unknown))
    return None if least == unknown else least
