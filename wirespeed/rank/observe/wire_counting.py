"""Counted iterations: a pattern between two readings of the wires' counters, never timed for a figure."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from wirespeed.evidence.counters import CounterOwner, Reading
from wirespeed.evidence.verdict import Counted, Declaration, identify_wire, more_would_help
from wirespeed.host.caches import cache_bytes
from wirespeed.host.core import NativeError
from wirespeed.host.devices import declared_rates
from wirespeed.host.pci_topology import distances, local_cpus
from wirespeed.host.process import host_name, span
from wirespeed.job.records import Evidence, Facts, UsedNics
from wirespeed.limits.wires import NETWORKS
from wirespeed.paths import TransferPath
from wirespeed.rank.context import RankContext
from wirespeed.rank.observe.expected_traffic import ExpectedTraffic, Location, sent_by
from wirespeed.rank.observe.host_counters import HostCounters, risen
from wirespeed.rank.observe.memory_bandwidth import memory_rates
from wirespeed.rank.program import Program

COUNTED_S, LONGEST_S = 0.01, 0.2
"""Seconds of iterations: at first, and at most where these leave too much uncertainty for a verdict."""
HOST_COPIES = ("host_to_device", "device_to_host")
MAX_ITERATIONS = 200_000
LEAST_FOR_PARTS = 1 << 20
"""Bytes of a message from which it is told what part of it each link of a bundle took: shorter ones take few
of them."""


class FilledBatches(Protocol):
    """What fills buffers before a batch and compares them after it."""

    def begin_batch(self, program: Program) -> None: ...

    def end_batch(self, program: Program, iterations: int) -> None: ...


def counted_bytes(wire: CounterOwner, start: Reading, end: Reading, background: float) -> Counted:
    """Rise of a wire's counters, of which `background` bytes are not ours; nothing is expected yet."""
    sent, received = risen(wire, start, end)
    links = zip(start.parts, end.parts, strict=False)
    return Counted(
        wire.kind,
        wire.name,
        host_name(),
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
    copies: list[Facts]
    """Copies of each rank's GPU, by kind."""


class WireCounting:
    """Counts one path's bytes. All methods are collective."""

    def __init__(self, context: RankContext, path: TransferPath, counters: HostCounters) -> None:
        self._context, self._path, self._counters = context, path, counters
        self.parts_of = 0
        """Bytes of the size at which each link of a bundle is read, too, which takes long; 0: of none."""
        self._comm, self._core = context.comm, context.core
        self._idled = False

    def wires(self, carried: float = 0.0) -> list[Facts]:
        """Wires by the drivers of all hosts, on rank 0; `carried`: as of memory_rates()."""
        host = host_name()
        mine: list[Facts] = [
            {"host": host, "kind": wire.kind, "name": wire.name, "device": wire.device}
            | {"rate": wire.rate, **wire.facts, **self._around(str(wire.facts.get("pci", "")))}
            for wire in self._counters.wires
        ]
        if declared := declared_rates(self._core.identity(self._context.device)["kind"]):
            slot = {"host": host, "kind": "pcie", "name": "declared", "device": None, "rate": None}
            mine.append(slot | {"rates": declared})
        by_cpu = self._counters.reads and self._path.memory in ("pageable", "pinned")
        if by_cpu and (rates := memory_rates(carried)):
            slower = min(rates, key=rates.__getitem__)
            rate, low, high = rates[slower]
            memory = {"host": host, "kind": "memory", "name": "memory", "device": None, "rate": rate}
            memory |= {"low": low, "high": high, "slower": slower, "caches": cache_bytes()}
            mine.append(memory | {"rates": {name: median for name, (median, *_) in rates.items()}})
        for wire in mine:
            for name, rate in self._context.plan.links:
                if name in (wire["name"], wire["kind"], str(wire["name"]).split(" port ")[0]):
                    wire |= {"rate": rate, "stated": True}
        # A driver says 0 where it does not know.
        told = [{name: fact for name, fact in wire.items() if fact} for wire in mine]
        return [wire for each in self._comm.gather(told) or () for wire in each]

    def _around(self, pci: str) -> Facts:
        """A device's distances to ranks' GPUs, and the CPUs nearest to it; empty without an address."""
        if not pci:
            return {}
        return {"distances": distances(pci, self._counters.gpus), "near": span(local_cpus(pci))}

    def evidence(self, program: Program, seconds: float, setup: Facts | None = None) -> Evidence | None:
        """Counts; the record on rank 0. `seconds`: what an iteration of the program takes.

        `setup`: of setup_copies().
        """
        sends = self._comm.gather(sent_by(program.traffic))
        expected = ExpectedTraffic.of(self._counters.locations, sends) if sends is not None else None
        found: Evidence | None = None
        lasts = COUNTED_S
        for _ in range(2):
            iterations = max(1, min(int(lasts / max(seconds, 1e-9)), MAX_ITERATIONS))
            if expected and (most := expected.most()):
                # Fewer, where a counter would wrap; what one iteration alone fills is not counted.
                iterations = max(1, min(iterations, (1 << 31) // most))
            iterations = self._comm.share(iterations)
            counts = self._count(program, iterations, setup or {})
            # One iteration alone, by which the first attempt was planned, may be far slower than one of many.
            seconds = counts.seconds / iterations
            times = 0.0
            if expected is not None:
                found, times = self._judged(program.size, expected, counts)
            lasts *= self._comm.share(times)
            if not lasts:
                break
        return found

    def setup_copies(self, check: FilledBatches, program: Program) -> Facts:
        """This rank's copies, by kind, while the check fills and compares buffers once."""
        before = self._copied(partial(check.begin_batch, program))
        program.run()
        counted = before, self._copied(partial(check.end_batch, program, 1))
        whole = {kind: [each[kind] for each in counted if kind in each] for kind in HOST_COPIES}
        return {
            f"setup_{kind}": {name: sum(int(part[name]) for part in parts) for name in ("count", "bytes")}
            for kind, parts in whole.items()
            if parts
        }

    def _copied(self, work: Callable[[], None]) -> Facts:
        """This rank's copies during the work, by kind."""
        watched = self._watch_copies(True)
        work()
        return (self._copies() if watched else None) or {}

    def _count(self, program: Program, iterations: int, setup: Facts) -> _Counts:
        self._comm.barrier()
        counters = self._counters
        parts = program.size == self.parts_of >= LEAST_FOR_PARTS
        start = counters.read(parts) if self._idled else counters.idle(parts)
        self._idled = True
        idled = time.monotonic()
        watched = self._watch_copies(True)
        self._comm.barrier()
        with self._context.ranges("counted", iterations=iterations):
            started = time.monotonic()
            program.run(iterations)
            self._comm.barrier()
            took = time.monotonic() - started
        copies = {**(self._copies() or {}), **setup} if watched else None
        end, lasted = counters.read(parts), time.monotonic() - idled
        mine = [
            counted_bytes(wire, first, last, lasted * idle)
            for wire, first, last, idle in zip(counters.wires, start, end, counters.idle_rates(), strict=True)
            if first and last
        ]
        wires = [wire for each in self._comm.gather(mine) or () for wire in each]
        return _Counts(iterations, took, wires, list(filter(None, self._comm.gather(copies) or ())))

    def _watch_copies(self, on: bool) -> bool:
        """Starts or stops the driver's count of this rank's copies; False where there is none."""
        try:
            self._core.check(self._core.lib.ws_device_watch_copies(self._context.device, int(on)))
        except NativeError:
            return False
        return True

    def _copies(self) -> Facts | None:
        found: Facts | None = None
        with suppress(NativeError):
            kinds = self._core.described(self._core.lib.ws_device_copies(self._context.device))
            found = {"rank": self._comm.rank, **{kind: item for kind, item in kinds.items() if item["count"]}}
        self._watch_copies(False)
        return found

    def _judged(self, size: int, expected: ExpectedTraffic, counts: _Counts) -> tuple[Evidence, float]:
        """The record, and how many times as long a run would leave little uncertainty; 0: none."""
        path = self._path
        wires = [self._with_expected(wire, counts.iterations, expected) for wire in counts.wires]
        usable = [wire for wire in wires if wire.in_range]
        claim = Declaration(
            path=path.name,
            on_device=path.memory in ("device", "managed") or path.mixed,
            direct=path.claims_direct,
            hosts=len({location.host for location in self._counters.locations}),
            devices=len({location for location in self._counters.locations if location.device}),
            intra_rank=path.intra_rank,
            crosses=path.mixed,
        )
        payload = counts.iterations * expected.total
        verdict = identify_wire(claim, usable, counts.copies, payload)
        record = Evidence(
            kind="evidence",
            pattern=self._context.pattern.name,
            path=path.name,
            bytes=size,
            verdict=verdict.verdict,
            text=verdict.text,
            suspicious=verdict.suspicious,
            shares=verdict.shares,
            uncertainties=verdict.uncertainties,
            iterations=counts.iterations,
            payload_bytes=payload,
            wires=[vars(wire) for wire in usable],
            copies=counts.copies,
            nics=[UsedNics(rank=rank) for rank in expected.between_hosts],
            unread_sources=self._counters.unread,
        )
        return record, more_would_help(verdict, LONGEST_S / COUNTED_S)

    def _with_expected(self, counted: Counted, iterations: int, expected: ExpectedTraffic) -> Counted:
        edge = counted.host if counted.kind in NETWORKS else Location(counted.host, counted.device)
        sent, received = expected.sent.get(edge, 0), expected.received.get(edge, 0)
        if self._path.mixed and isinstance(edge, Location):
            # One of the two buffers lies beyond the GPU's edge, wherever the peer is.
            into = self._path.into or self._path.memory
            sent = expected.read[edge] if self._path.memory == "device" else 0
            received = expected.written[edge] if into == "device" else 0
            if self._path.intra_rank and self._context.shape.options.get("both_ways"):
                sent = received = expected.read[edge] // 2
        return replace(counted, expected_sent=iterations * sent, expected_received=iterations * received)
