"""Run by mpiexec: buffers for which the last rank has no room: all other ranks must give back theirs.

    without_room.py TRANSPORT OPTIONS MEMORY DEVICE

Rank 0 prints by how many bytes each rank's address space has grown, and what they were told.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

from wirespeed.host.core import NativeError

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.rank import Rank

BYTES, ATTEMPTS = 256 << 20, 4


def used() -> int:
    """Bytes of address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(name: str, options: str, memory: str, kind: str) -> None:
    rank = Rank(kind)
    transport = rank.transport(name, options)
    if rank.world.rank == rank.world.size - 1:
        resource.setrlimit(resource.RLIMIT_AS, (used() + BYTES, resource.RLIM_INFINITY))
    before, told = used(), list[str]()
    for _ in range(ATTEMPTS):
        try:
            opened = rank.buffers(transport, BYTES, memory)
        except NativeError as error:
            told.append(str(error))
        else:
            with suppress(NativeError):
                rank.core.lib.ws_buffers_abandon(opened)
    found = rank.world.everyone([used() - before, told])
    rank.lib.ws_transport_close(transport)
    rank.leave(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
