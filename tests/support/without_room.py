"""Run by mpiexec: buffers for which the last rank has no room: all other ranks must give back theirs.

    without_room.py TRANSPORT OPTIONS MEMORY DEVICE

Rank 0 prints by how many bytes each rank's address space has grown, and what they were told.
"""

from __future__ import annotations

import json
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from wirespeed.host.core import NativeError

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.irregular import Rank

BYTES, ATTEMPTS = 256 << 20, 4


def used() -> int:
    """Bytes of address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(*words: str) -> None:
    rank = Rank(*words)
    if rank.world.rank == rank.world.size - 1:
        resource.setrlimit(resource.RLIMIT_AS, (used() + BYTES, resource.RLIM_INFINITY))
    before, told = used(), list[str]()
    for _ in range(ATTEMPTS):
        try:
            opened: Any = rank.core.check(rank.core.lib.ws_buffers_open(rank.transport, rank.memory, BYTES))
        except NativeError as error:
            told.append(str(error))
        else:
            with suppress(NativeError):
                rank.core.lib.ws_buffers_abandon(opened)
    found = rank.world.everyone([used() - before, told])
    if rank.world.rank == 0:
        print(json.dumps(found))
    rank.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
