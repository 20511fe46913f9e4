"""The counters of hosts' wires: found once for a job step, read by the first rank of each host."""

from __future__ import annotations

import time
from typing import Any

from wirespeed.evidence.counters import CounterOwner, CounterSource, Reading, find_counter_sources, reason
from wirespeed.host.core import Core
from wirespeed.host.devices import by_board
from wirespeed.host.handles import DeviceHandle
from wirespeed.host.process import host_name
from wirespeed.rank.observe.expected_traffic import Location
from wirespeed.rank.world import World

MAX_RANKS = 1024
"""With more ranks, rank 0 would have to hold too much about the others."""
IDLE, MIN_IDLE = 0.05, 0.005
"""Seconds without traffic of ours before the first counted path and, at least, before each other one."""


def risen(wire: CounterOwner, first: Reading, last: Reading) -> tuple[int, int]:
    """Rise of a wire's counters: bytes (sent, received)."""

    def rise(first: int, last: int) -> int:
        return (last - first) % wire.wraps if wire.wraps else max(0, last - first)

    return rise(first.sent, last.sent), rise(first.received, last.received)


class HostCounters:
    """The constructor is collective; idle() and read() are called by all ranks at the same time."""

    def __init__(self, comm: World, core: Core, device: DeviceHandle) -> None:
        self._sources: list[CounterSource] = []
        self._idled, self._idle_bytes = 0.0, list[int]()
        self.unread: list[str] = []
        """Why some cannot be read."""
        self.reads = False
        """Is this rank the first one of its host?"""
        self.locations: list[Location] = []
        """Location of each rank."""
        self.gpus: tuple[str, ...] = ()
        """PCI addresses of this host's GPUs that ranks use."""
        self.able = comm.size <= MAX_RANKS
        if self.able:
            self._find(comm, core.identity(device))
        self.wires: list[CounterOwner] = [wire for source in self._sources for wire in source.wires]

    def _find(self, comm: World, identity: dict[str, Any]) -> None:
        mine = None if identity["kind"] == "host" else identity
        host = host_name()
        everyone = comm.everyone((host, mine))
        hosts = dict.fromkeys(name for name, _ in everyone)
        boards = {here: by_board(item for name, item in everyone if name == here and item) for here in hosts}
        self.locations = [
            Location(name, None if item is None else str(boards[name][str(item["id"])]["id"]))
            for name, item in everyone
        ]
        first = next(rank for rank, location in enumerate(self.locations) if location.host == host)
        self.reads = first == comm.rank
        here = (str(item.get("pci") or "").lower() for name, item in everyone if name == host and item)
        self.gpus = tuple(dict.fromkeys(filter(None, here)))
        if self.reads:
            counted = {str(board["id"]): board for board in boards[host].values()}
            self._sources, self.unread = find_counter_sources(list(counted.values()))

    def close(self) -> None:
        """Releases what was opened to be read."""
        for source in self._sources:
            source.close()
        self._sources = []

    def idle(self, parts: bool) -> list[Reading | None]:
        """Waits while no rank moves anything, which adds to the known background; a reading at the end."""
        before, began = self.read(parts=False), time.monotonic()
        time.sleep(MIN_IDLE if self._idled else IDLE)
        after = self.read(parts)
        self._idled += time.monotonic() - began
        pairs = zip(self.wires, before, after, strict=True)
        rises = (sum(risen(wire, first, last)) if first and last else 0 for wire, first, last in pairs)
        known = self._idle_bytes or [0] * len(after)
        self._idle_bytes = [old + new for old, new in zip(known, rises, strict=True)]
        return after

    def idle_rates(self) -> list[float]:
        """Bytes per second of each wire that are not ours."""
        return [known / self._idled for known in self._idle_bytes]

    def read(self, parts: bool) -> list[Reading | None]:
        """A reading for each wire; None where its counter source does not answer any more.

        `parts`: as of CounterSource.read().
        """
        found: list[Reading | None] = []
        for source in self._sources:
            try:
                found += source.read(parts)
            except Exception as error:  # whatever is wrong with it, other ranks wait for this one
                if (why := reason(error)) not in self.unread:
                    self.unread.append(why)
                found += [None] * len(source.wires)
        return found
