"""Counted runs: rounds of a pattern between two readings of the wires' counters, never timed for a figure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from wirespeed.evidence.counters import CannotRead, Reading, Witness, find_witnesses
from wirespeed.evidence.verdict import NETWORKS, Claim, Counted, judge, more_would_help, shares
from wirespeed.host.core import NativeError
from wirespeed.job.messages import Message
from wirespeed.paths import Path
from wirespeed.patterns import Step
from wirespeed.rank.context import Setting
from wirespeed.rank.memory_bandwidth import memory_rates

MOST_RANKS = 1024
"""Above this rank 0 would have to know too much of the others."""
ATTEMPTS = (0.02, 0.2)
"""Seconds of rounds; the second where the first leaves too much doubt about what the verdict rests on."""
MOST_ROUNDS = 200_000
IDLE = (0.005, 0.05)
"""Seconds, least and most, in which nothing of ours moves: what passes then is background."""

Run = Callable[[int], None]


@dataclass(frozen=True)
class Traffic:
    """What a rank sends in one round, and to whom, in bytes."""

    sent: tuple[tuple[int, int], ...]

    @staticmethod
    def of(steps: Sequence[Step]) -> Traffic:
        sums: dict[int, int] = {}
        for step in steps:
            for transfer in step.sends:
                sums[transfer.peer] = sums.get(transfer.peer, 0) + transfer.bytes
        return Traffic(tuple(sums.items()))


@dataclass(frozen=True)
class Place:
    """Where a rank and its data are."""

    host: str
    device: str | None


@dataclass
class Expected:
    """Bytes that a round must take across the edges of devices and of hosts."""

    sent: dict[Place | str, int]
    received: dict[Place | str, int]
    total: int

    @staticmethod
    def of(places: Sequence[Place], traffic: Sequence[Traffic]) -> Expected:
        """Of each GPU (a Place), and of each host (its name)."""
        sent: dict[Place | str, int] = {}
        received: dict[Place | str, int] = {}
        total = 0
        several = len({place.host for place in places}) > 1
        for rank, mine in enumerate(traffic):
            here = places[rank]
            for peer, count in mine.sent:
                there = places[peer]
                total += count
                if here != there:
                    sent[here] = sent.get(here, 0) + count
                    received[there] = received.get(there, 0) + count
                if here.host != there.host or not several:
                    sent[here.host] = sent.get(here.host, 0) + count
                    received[there.host] = received.get(there.host, 0) + count
        return Expected(sent, received, total)


class CountedRuns:
    """The witnesses of one path's job step; all ranks call the same methods in the same order."""

    def __init__(self, setting: Setting, path: Path) -> None:
        self._set, self._path = setting, path
        self._world, self._core = setting.world, setting.core
        self._witnesses: list[Witness] = []
        self._silent: list[str] = []
        self._reads = False
        self._places: list[Place] = []
        self._last = (0, 0.0)
        self.able = self._world.size <= MOST_RANKS
        if self.able:
            self._find()

    def _find(self) -> None:
        """The first rank of each host reads that host's counters."""
        identity = self._core.identity(self._set.device)
        mine = None if identity["kind"] == "host" else identity
        host = os.uname().nodename
        everyone = self._world.everyone((host, mine))
        self._places = [Place(name, None if one is None else str(one["id"])) for name, one in everyone]
        first = next(rank for rank, place in enumerate(self._places) if place.host == host)
        self._reads = first == self._world.rank
        if self._reads:
            devices = {str(one["id"]): one for name, one in everyone if name == host and one}
            self._witnesses, self._silent = find_witnesses(list(devices.values()))

    def close(self) -> None:
        for witness in self._witnesses:
            witness.close()
        self._witnesses = []

    def wires(self) -> list[dict[str, Any]]:
        """What all hosts' drivers say of their wires, on rank 0."""
        host = os.uname().nodename
        mine: list[dict[str, Any]] = [
            {"host": host, "kind": wire.kind, "name": wire.name, "device": wire.device}
            | {"rate": wire.rate, **wire.facts}
            for witness in self._witnesses
            for wire in witness.wires
        ]
        if self._reads and self._path.memory in ("pageable", "pinned") and (rates := memory_rates()):
            slower = min(rates, key=rates.__getitem__)
            memory = {"host": host, "kind": "memory", "name": "memory", "device": None}
            mine.append(memory | {"rate": rates[slower], "slower": slower, "rates": rates})
        for wire in mine:
            for name, rate in self._set.plan.links:
                if name in (wire["name"], wire["kind"], str(wire["name"]).split(" port ")[0]):
                    wire |= {"rate": rate, "stated": True}
        return [wire for each in self._world.gather(mine) or () for wire in each]

    def foreseen(self, size: int) -> float:
        """Seconds that a round will take, by the size before; 0 where that was another kind of message."""
        before, seconds = self._last
        return seconds * size / before if 0 < before <= size <= 4 * before else 0.0

    def evidence(self, size: int, steps: Sequence[Step], seconds: float, run: Run) -> Message | None:
        """Counts; the record on rank 0. `seconds`: what a round takes; `run`: does so many of them."""
        self._last = (size, seconds)
        traffic = self._world.gather(Traffic.of(steps))
        expected = Expected.of(self._places, traffic) if traffic is not None else None
        found: Message | None = None
        for lasts in ATTEMPTS:
            rounds = max(1, min(int(lasts / max(seconds, 1e-9)), MOST_ROUNDS))
            if expected:
                rounds = self._within_counters(rounds, expected)
            rounds = self._world.share(rounds)
            idle = max(IDLE[0], min(rounds * seconds, IDLE[1]))
            wires, copies, took = self._count(rounds, idle, run)
            # One round alone, by which the first attempt was planned, may be far slower than one of many.
            seconds = took / rounds
            again = False
            if expected is not None:
                found, again = self._judged(size, rounds, expected, wires, copies)
            if not self._world.share(again):
                break
        return found

    def _within_counters(self, rounds: int, expected: Expected) -> int:
        """Fewer, where a counter would begin again; what one round alone fills is not counted."""
        most = max([*expected.sent.values(), *expected.received.values()], default=0)
        return max(1, min(rounds, (1 << 31) // most)) if most else rounds

    def _count(
        self, rounds: int, idle: float, run: Run
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
        """Rank 0 gets every wire's readings and every rank's copies; and the seconds that the rounds took."""
        self._world.barrier()
        before, began = self._read(), time.monotonic()
        time.sleep(idle)
        middle, idled = self._read(), time.monotonic()
        watched = self._watch_copies(True)
        self._world.barrier()
        started = time.monotonic()
        run(rounds)
        self._world.barrier()
        took = time.monotonic() - started
        copies = self._copies() if watched else None
        after, ended = self._read(), time.monotonic()
        share = (ended - idled) / max(idled - began, 1e-9)
        mine = [
            {
                "wire": wire,
                "sent": _risen(wire.wraps, m.sent, a.sent),
                "received": _risen(wire.wraps, m.received, a.received),
                "background": round(
                    share * (_risen(wire.wraps, b.sent, m.sent) + _risen(wire.wraps, b.received, m.received))
                ),
                "links": tuple(
                    (_risen(None, x[0], y[0]), _risen(None, x[1], y[1]))
                    for x, y in zip(m.parts, a.parts, strict=False)
                ),
                "host": os.uname().nodename,
            }
            for wire, b, m, a in zip(self._all_wires(), before, middle, after, strict=True)
            if b and m and a
        ]
        wires = [wire for each in self._world.gather(mine) or () for wire in each]
        counted = [one for one in self._world.gather(copies) or () if one is not None]
        return wires, counted, took

    def _all_wires(self) -> list[Any]:
        return [wire for witness in self._witnesses for wire in witness.wires]

    def _read(self) -> list[Reading | None]:
        """None for the wires of a witness that has fallen silent."""
        found: list[Reading | None] = []
        for witness in self._witnesses:
            try:
                found += witness.read()
            except Exception as error:  # whatever is wrong with it, other ranks wait for this one
                words = str(error) if isinstance(error, CannotRead) else f"{type(error).__name__}: {error}"
                if words not in self._silent:
                    self._silent.append(words)
                found += [None] * len(witness.wires)
        return found

    def _watch_copies(self, on: bool) -> bool:
        """Does somebody count this rank's copies from now on?"""
        try:
            self._core.check(self._core.lib.ws_device_watch_copies(self._set.device, int(on)))
        except NativeError:
            return False
        return True

    def _copies(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None
        with suppress(NativeError):
            kinds = self._core.described(self._core.lib.ws_device_copies(self._set.device))
            counted = {kind: one for kind, one in kinds.items() if one["count"]}
            found = {"rank": self._world.rank, **counted}
        self._watch_copies(False)
        return found

    def _judged(
        self,
        size: int,
        rounds: int,
        expected: Expected,
        wires: Sequence[Mapping[str, Any]],
        copies: Sequence[Mapping[str, Any]],
    ) -> tuple[Message, bool]:
        """The record, and whether a longer run would leave less doubt."""
        counted = [self._counted(one, rounds, expected) for one in wires]
        usable = [one for one, raw in zip(counted, wires, strict=True) if _told(one, raw["wire"].wraps)]
        devices = {place for place in self._places if place.device}
        hosts = {place.host for place in self._places}
        claim = Claim(
            path=self._path.name,
            on_device=self._path.memory in ("device", "managed"),
            direct=self._path.claims_direct,
            hosts=len(hosts),
            devices=len(devices),
            within=self._path.within,
            crosses=self._crosses,
        )
        payload = rounds * expected.total
        verdict = judge(claim, usable, copies, payload)
        doubts = {kind: share.doubt for kind, share in shares(usable).items()}
        message = {
            "kind": "evidence",
            "pattern": self._set.pattern.name,
            "path": self._path.name,
            "bytes": size,
            "verdict": verdict.verdict,
            "text": verdict.text,
            "suspicious": verdict.suspicious,
            "shares": dict(verdict.shares),
            "uncertainties": doubts,
            "iterations": rounds,
            "payload_bytes": payload,
            "wires": [wire.to_dict() for wire in usable],
            "copies": list(copies),
            "unread_sources": list(self._silent),
        }
        return message, more_would_help(verdict, doubts, ATTEMPTS[1] / ATTEMPTS[0])

    def _counted(self, raw: Mapping[str, Any], rounds: int, expected: Expected) -> Counted:
        wire, host = raw["wire"], raw["host"]
        edge: Place | str = Place(host, wire.device) if wire.kind not in NETWORKS else host
        sent, received = expected.sent.get(edge, 0), expected.received.get(edge, 0)
        if self._path.within and wire.kind == "pcie":
            sent, received = self._inside(expected, edge)
        return Counted(
            wire.kind,
            wire.name,
            host,
            raw["sent"],
            raw["received"],
            raw["background"],
            wire.granularity,
            wire.device,
            rounds * sent,
            rounds * received,
            raw["links"],
        )

    def _inside(self, expected: Expected, edge: Place | str) -> tuple[int, int]:
        """What a copy inside a rank takes over the slot of its GPU: out of it, and into it."""
        ranks = sum(place == edge for place in self._places)
        each = expected.total // max(1, len(self._places)) * ranks
        into = self._path.into or self._path.memory
        leaves = self._path.memory == "device" and into != "device"
        enters = self._path.memory != "device" and into == "device"
        return each * leaves, each * enters

    @property
    def _crosses(self) -> bool:
        """Do a path's copies go from the host's memory to the GPU's, or back?"""
        into = self._path.into or self._path.memory
        return self._path.within and (self._path.memory == "device") != (into == "device")


def _risen(wraps: int | None, before: int, after: int) -> int:
    return (after - before) % wraps if wraps else max(0, after - before)


def _told(one: Counted, wraps: int | None) -> bool:
    """Can this wire's counters have kept up with what was to be counted?"""
    return wraps is None or max(one.expected_sent, one.expected_received) * 1.2 < wraps
