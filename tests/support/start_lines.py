"""Ranks without MPI, each a thread here, that start their samples together: start_lines.py SCENARIO RANKS.

Prints what each rank found, as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError
from wirespeed.host.core import Core
from wirespeed.launchers import LaunchedRank
from wirespeed.rank.join.socket_world import SocketWorld

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.rank import CoreRank

BARRIER_PER_SAMPLE = 2
SAMPLES = 4
LATE = 1.0
"""Seconds that a rank comes late."""


class RankInRing(CoreRank):
    """One of them, with a message to and from each neighbour in a ring, over TCP."""

    def __init__(self, world: SocketWorld, options: str = "") -> None:
        super().__init__(Core(), "host", world.rank)
        self.world, self.control = world, world.control(self.core)
        self.opened = self.transport("tcp", options)
        self.placed = self.buffers(self.opened, 64, "pageable")
        following, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
        ring = [(0, 0, following, 0, 8), (0, 1, before, 0, 8)]
        self.rounds = self.program(self.opened, self.placed, ring, flags=BARRIER_PER_SAMPLE)

    def sample(self) -> list[float]:
        seconds = self.core.ffi.new("double[]", SAMPLES)
        clocks = self.core.ffi.new("ws_batch_clocks *")
        self.core.check(self.lib.ws_program_sample(self.rounds, 1, 1, SAMPLES, seconds, clocks))
        return list(self.core.ffi.unpack(seconds, SAMPLES))

    def start(self) -> dict[str, Any]:
        self.world.everyone(None)
        return self.core.described(self.core.lib.ws_program_start(self.rounds))


def late(world: SocketWorld, options: str = "") -> dict[str, Any]:
    """The last rank comes late, twice."""
    rank = RankInRing(world, options)
    seconds: list[float] = []
    for _ in range(2):
        if world.rank == world.size - 1:
            time.sleep(LATE)
        seconds += rank.sample()
    found = {"longest": max(seconds), "shortest": min(seconds), "start": rank.start(), "again": rank.start()}
    rank.close(rank.opened, rank.placed, rank.rounds)
    return found


def by_barrier(world: SocketWorld) -> dict[str, Any]:
    """The ranks are told not to agree on a moment."""
    return late(world, "start=barrier")


def gone(world: SocketWorld) -> dict[str, Any]:
    """The last rank closes its connections, and the others wait for it at the start."""
    rank = RankInRing(world)
    rank.sample()
    if world.rank == world.size - 1:
        return {"said": "", "after": 0.0}
    began = time.monotonic()
    try:
        rank.sample()
    except WirespeedError as error:
        return {"said": str(error), "after": time.monotonic() - began}
    return {"said": "nothing", "after": 0.0}


def main() -> None:
    scenario, ranks = sys.argv[1], int(sys.argv[2])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret")
        secret.write_text("sixteen random characters")
        secret.chmod(0o600)
        if scenario == "without_memory":
            # No file may grow: as with a full /dev/shm.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        if scenario == "one_cpu":
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        environment = {"MASTER_ADDR": "127.0.0.1", "WIRESPEED_PORT": str(port)}
        environment["WIRESPEED_SECRET_FILE"] = str(secret)
        does = {"by_barrier": by_barrier, "gone": gone}.get(scenario, late)

        def one(rank: int) -> dict[str, Any]:
            with closing(SocketWorld(LaunchedRank("torchrun", rank, ranks, rank), environment)) as world:
                return does(world)

        with ThreadPoolExecutor(ranks) as threads:
            print(json.dumps([*threads.map(one, range(ranks))]), flush=True)


if __name__ == "__main__":
    main()
