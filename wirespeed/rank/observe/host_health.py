"""Health of the hosts around a path's measurement; never read while anything is timed."""

from __future__ import annotations

import time
from typing import Any

from wirespeed.evidence.health import HealthReading, HealthSource, changes, find_health_sources, read
from wirespeed.host.core import Core
from wirespeed.host.devices import by_board
from wirespeed.host.handles import DeviceHandle
from wirespeed.host.process import host_name
from wirespeed.job.records import Health
from wirespeed.rank.world import World


class HostHealth:
    """The first rank of each host reads its host, around each path. All but close() is collective."""

    def __init__(self, comm: World, core: Core, device: DeviceHandle) -> None:
        """Finds what can be read."""
        self._comm, self._host = comm, host_name()
        identity = core.identity(device)
        everyone = self._comm.everyone((self._host, None if identity["kind"] == "host" else identity))
        here = [rank for rank, (host, _) in enumerate(everyone) if host == self._host]
        self._reads = self._comm.rank == here[0]
        self._sources: list[HealthSource] = []
        self._broken: list[str] = []
        if self._reads:
            boards = by_board(item for _, item in (everyone[rank] for rank in here) if item)
            devices = {str(board["id"]): board for board in boards.values()}
            several = len({host for host, _ in everyone}) > 1
            self._sources, self._broken = find_health_sources(list(devices.values()), several)
        self._took = self._began = 0.0
        self._before: HealthReading | None = None

    def begin(self) -> None:
        """Takes the first reading; where another path has been read, its last one is the first of this."""
        if self._before is None:
            self._before, self._began = self._read(), time.monotonic()

    def end(self, path: str) -> Health | None:
        """Takes the second reading; on rank 0 what came between, of all hosts."""
        assert self._before
        before, began = self._before, self._began
        self._before, self._began = self._read(), time.monotonic()
        after, lasted = self._before, self._began - began
        mine = None
        if self._reads:
            mine = changes(self._host, before, after) | {"reading_s": self._took, "host": self._host}
            mine["lacks"] += self._broken
        hosts = [item for item in self._comm.gather(mine) or () if item]
        if not hosts:
            return None
        lists = ("errors", "corrected", "throttled", "clocks", "counted", "watched", "notes", "lacks")
        joined: dict[str, list[Any]] = {
            name: [item for host in hosts for item in host[name]] for name in lists
        }
        for name in ("counted", "lacks"):
            joined[name] = [*dict.fromkeys(joined[name])]
        for name, what in (("counted", "errors"), ("watched", "held back clocks")):
            silent = [host["host"] for host in hosts if not host[name]]
            if silent and joined[name]:
                # A rule that all hosts have to keep must not hold because one of them was watched.
                joined[name] = []
                joined["lacks"].append(f"{', '.join(silent)}: no source of {what}")
        slowest = max(host["reading_s"] for host in hosts)
        return Health(
            kind="health",
            path=path,
            seconds=lasted,
            reading_s=slowest,
            errors=joined["errors"],
            corrected=joined["corrected"],
            throttled=joined["throttled"],
            clocks=joined["clocks"],
            counted=joined["counted"],
            watched=joined["watched"],
            notes=joined["notes"],
            lacks=joined["lacks"],
        )

    def close(self) -> None:
        """Releases what was opened to be read."""
        for source in self._sources:
            source.close()

    def _read(self) -> HealthReading:
        """While no rank moves bytes; the longest time that a reading took is kept."""
        self._comm.barrier()
        began = time.monotonic()
        health = read(self._sources)
        self._took = max(self._took, time.monotonic() - began)
        self._comm.barrier()
        return health
