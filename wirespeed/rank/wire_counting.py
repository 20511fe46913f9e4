"""Counted iterations: a pattern between two readings of the wires' counters, never timed for a figure."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from wirespeed.evidence.counters import CounterSource, Reading, Wire, find_counter_sources, reason
from wirespeed.evidence.verdict import Claim, Counted, identify_wire, more_would_help
from wirespeed.host.caches import cache_bytes
from wirespeed.host.core import NativeError
from wirespeed.host.devices import by_board
from wirespeed.host.pci_topology import distances
from wirespeed.job.messages import Message
from wirespeed.limits.wires import NETWORKS
from wirespeed.paths import TransferPath
from wirespeed.rank.context import RankContext
from wirespeed.rank.expected_traffic import ExpectedTraffic, Location, sent_by
from wirespeed.rank.memory_bandwidth import memory_rates
from wirespeed.rank.program import Program

MOST_RANKS = 1024
"""With more ranks, rank 0 would have to hold too much about the others."""
ATTEMPTS = (0.02, 0.2)
"""Seconds of iterations; the second where the first leaves too much uncertainty for a verdict."""
MOST_ITERATIONS = 200_000
IDLE, LEAST_IDLE = 0.05, 0.005
"""Seconds without traffic of ours before the first counted size and, at least, before each other one."""


def risen(wire: Wire, first: Reading, last: Reading) -> tuple[int, int]:
    """What a wire's counters rose by: bytes (sent, received)."""

    def rise(first: int, last: int) -> int:
        return (last - first) % wire.wraps if wire.wraps else max(0, last - first)

    return rise(first.sent, last.sent), rise(first.received, last.received)


def counted_bytes(wire: Wire, start: Reading, end: Reading, background: float) -> Counted:
    """What a wire's counters rose by, of which `background` bytes are not ours; nothing is expected yet."""
    sent, received = risen(wire, start, end)
    links = zip(start.parts, end.parts, strict=False)
    return Counted(
        wire.kind,
        wire.name,
        os.uname().nodename,
        sent,
        received,
        round(background),
        wire.granularity,
        wire.device,
        links=tuple((max(0, b[0] - a[0]), max(0, b[1] - a[1])) for a, b in links),
        wraps=wire.wraps,
    )


@dataclass(frozen=True)
class _Counts:
    """What rank 0 knows after counted iterations; empty on other ranks."""

    iterations: int
    seconds: float
    wires: list[Counted]
    copies: list[dict[str, Any]]
    """Of each rank's GPU, by kind of copy."""


class WireCounting:
    """Reads the counter sources for one path's job step. All methods but close() are collective."""

    def __init__(self, context: RankContext, path: TransferPath) -> None:
        self._context, self._path = context, path
        self._comm, self._core = context.comm, context.core
        self._sources: list[CounterSource] = []
        self._unread: list[str] = []
        self._reads = False
        self._locations: list[Location] = []
        self._idled, self._idle_bytes = 0.0, list[int]()
        self._gpus: tuple[str, ...] = ()
        """PCI addresses of this host's GPUs that ranks use."""
        self.able = self._comm.size <= MOST_RANKS
        if self.able:
            self._find()

    def _find(self) -> None:
        """The first rank of each host reads that host's counters."""
        identity = self._core.identity(self._context.device)
        mine = None if identity["kind"] == "host" else identity
        host = os.uname().nodename
        everyone = self._comm.everyone((host, mine))
        hosts = dict.fromkeys(name for name, _ in everyone)
        boards = {here: by_board(one for name, one in everyone if name == here and one) for here in hosts}
        self._locations = [
            Location(name, None if one is None else str(boards[name][str(one["id"])]["id"]))
            for name, one in everyone
        ]
        first = next(rank for rank, one in enumerate(self._locations) if one.host == host)
        self._reads = first == self._comm.rank
        here = (str(one.get("pci") or "").lower() for name, one in everyone if name == host and one)
        self._gpus = tuple(dict.fromkeys(filter(None, here)))
        if self._reads:
            counted = {str(one["id"]): one for one in boards[host].values()}
            self._sources, self._unread = find_counter_sources(list(counted.values()))

    def close(self) -> None:
        for source in self._sources:
            source.close()
        self._sources = []

    def wires(self) -> list[dict[str, Any]]:
        """What all hosts' drivers say of their wires, on rank 0."""
        host = os.uname().nodename
        mine: list[dict[str, Any]] = [
            {"host": host, "kind": wire.kind, "name": wire.name, "device": wire.device}
            | {
                "rate": wire.rate,
                **wire.facts,
                "distances": distances(str(wire.facts.get("pci", "")), self._gpus),
            }
            for wire in self._all_wires()
        ]
        if self._reads and self._path.memory in ("pageable", "pinned") and (rates := memory_rates()):
            slower = min(rates, key=rates.__getitem__)
            rate, low, high = rates[slower]
            memory = {"host": host, "kind": "memory", "name": "memory", "device": None, "rate": rate}
            memory |= {"low": low, "high": high, "slower": slower, "caches": cache_bytes()}
            mine.append(memory | {"rates": {name: one for name, (one, *_) in rates.items()}})
        for wire in mine:
            for name, rate in self._context.plan.links:
                if name in (wire["name"], wire["kind"], str(wire["name"]).split(" port ")[0]):
                    wire |= {"rate": rate, "stated": True}
        return [wire for each in self._comm.gather(mine) or () for wire in each]

    def evidence(self, program: Program, seconds: float) -> Message | None:
        """Counts; the record on rank 0. `seconds`: what an iteration of the program takes."""
        sends = self._comm.gather(sent_by(program.traffic))
        expected = ExpectedTraffic.of(self._locations, sends) if sends is not None else None
        found: Message | None = None
        for lasts in ATTEMPTS:
            iterations = max(1, min(int(lasts / max(seconds, 1e-9)), MOST_ITERATIONS))
            if expected and (most := expected.most()):
                # Fewer, where a counter would wrap; what one iteration alone fills is not counted.
                iterations = max(1, min(iterations, (1 << 31) // most))
            iterations = self._comm.share(iterations)
            counts = self._count(program, iterations)
            # One iteration alone, by which the first attempt was planned, may be far slower than one of many.
            seconds = counts.seconds / iterations
            again = False
            if expected is not None:
                found, again = self._judged(program.size, expected, counts)
            if not self._comm.share(again):
                break
        return found

    def _count(self, program: Program, iterations: int) -> _Counts:
        self._comm.barrier()
        start = self._idle()
        idled = time.monotonic()
        watched = self._watch_copies(True)
        self._comm.barrier()
        with self._context.ranges("counted", iterations=iterations):
            started = time.monotonic()
            program.run(iterations)
            self._comm.barrier()
            took = time.monotonic() - started
        copies = self._copies() if watched else None
        end, lasted = self._read(), time.monotonic() - idled
        mine = [
            counted_bytes(wire, first, last, lasted * idle / self._idled)
            for wire, first, last, idle in zip(self._all_wires(), start, end, self._idle_bytes, strict=True)
            if first and last
        ]
        wires = [wire for each in self._comm.gather(mine) or () for wire in each]
        return _Counts(iterations, took, wires, list(filter(None, self._comm.gather(copies) or ())))

    def _idle(self) -> list[Reading | None]:
        """Waits while no rank moves anything, which adds to the known background; a reading at the end."""
        before, began = self._read(), time.monotonic()
        time.sleep(LEAST_IDLE if self._idled else IDLE)
        after = self._read()
        self._idled += time.monotonic() - began
        pairs = zip(self._all_wires(), before, after, strict=True)
        rises = (sum(risen(wire, first, last)) if first and last else 0 for wire, first, last in pairs)
        known = self._idle_bytes or [0] * len(after)
        self._idle_bytes = [old + new for old, new in zip(known, rises, strict=True)]
        return after

    def _all_wires(self) -> list[Wire]:
        return [wire for source in self._sources for wire in source.wires]

    def _read(self) -> list[Reading | None]:
        """A reading for each wire; None where its counter source does not answer any more."""
        found: list[Reading | None] = []
        for source in self._sources:
            try:
                found += source.read()
            except Exception as error:  # whatever is wrong with it, other ranks wait for this one
                if (why := reason(error)) not in self._unread:
                    self._unread.append(why)
                found += [None] * len(source.wires)
        return found

    def _watch_copies(self, on: bool) -> bool:
        """Starts or stops the driver's count of this rank's copies; False where there is none."""
        try:
            self._core.check(self._core.lib.ws_device_watch_copies(self._context.device, int(on)))
        except NativeError:
            return False
        return True

    def _copies(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None
        with suppress(NativeError):
            kinds = self._core.described(self._core.lib.ws_device_copies(self._context.device))
            found = {"rank": self._comm.rank, **{kind: one for kind, one in kinds.items() if one["count"]}}
        self._watch_copies(False)
        return found

    def _judged(self, size: int, expected: ExpectedTraffic, counts: _Counts) -> tuple[Message, bool]:
        """The record, and whether a longer run would leave less uncertainty."""
        path = self._path
        wires = [self._with_expected(one, counts.iterations, expected) for one in counts.wires]
        usable = [one for one in wires if one.in_range]
        claim = Claim(
            path=path.name,
            on_device=path.memory in ("device", "managed") or path.mixed,
            direct=path.claims_direct,
            hosts=len({one.host for one in self._locations}),
            devices=len({one for one in self._locations if one.device}),
            intra_rank=path.intra_rank,
            crosses=path.mixed,
        )
        payload = counts.iterations * expected.total
        verdict = identify_wire(claim, usable, counts.copies, payload)
        message = {
            "kind": "evidence",
            "pattern": self._context.pattern.name,
            "path": path.name,
            "bytes": size,
            "verdict": verdict.verdict,
            "text": verdict.text,
            "suspicious": verdict.suspicious,
            "shares": verdict.shares,
            "uncertainties": verdict.uncertainties,
            "iterations": counts.iterations,
            "payload_bytes": payload,
            "wires": [vars(wire) for wire in usable],
            "copies": counts.copies,
            "between_hosts": expected.between_hosts,
            "unread_sources": self._unread,
        }
        return message, more_would_help(verdict, ATTEMPTS[1] / ATTEMPTS[0])

    def _with_expected(self, one: Counted, iterations: int, expected: ExpectedTraffic) -> Counted:
        edge = one.host if one.kind in NETWORKS else Location(one.host, one.device)
        sent, received = expected.sent.get(edge, 0), expected.received.get(edge, 0)
        if self._path.mixed and isinstance(edge, Location):
            # One of the two buffers lies beyond the GPU's edge, wherever the peer is.
            into = self._path.into or self._path.memory
            sent = expected.read[edge] if self._path.memory == "device" else 0
            received = expected.written[edge] if into == "device" else 0
            if self._path.intra_rank and self._context.shape.options.get("both_ways"):
                sent = received = expected.read[edge] // 2
        return replace(one, expected_sent=iterations * sent, expected_received=iterations * received)
