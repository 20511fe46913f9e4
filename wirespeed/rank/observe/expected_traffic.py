"""Bytes that an iteration must move across the edges of GPUs and of hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns import Step


@dataclass(frozen=True)
class Location:
    """Place of a rank and its data."""

    host: str
    device: str | None
    """Identity of its GPU; None: it works in host memory."""


def sent_by(steps: Sequence[Step]) -> dict[int, int]:
    """Bytes that a rank sends in one iteration, by peer."""
    sums = Counter[int]()
    for step in steps:
        for transfer in step.sends:
            sums[transfer.peer] += transfer.bytes
    return sums


@dataclass
class ExpectedTraffic:
    """Bytes per iteration out of and into each GPU (a Location) and each host (its name).

    `sent` and `received` leave out what stays at a place.
    """

    sent: dict[Location | str, int]
    received: dict[Location | str, int]
    read: Counter[Location]
    """Bytes that leave the send buffers at a place, also for another rank there."""
    written: Counter[Location]
    total: int
    between_hosts: tuple[int, ...] = ()
    """Ranks that send to another host or receive from one."""

    @staticmethod
    def of(locations: Sequence[Location], sends: Sequence[dict[int, int]]) -> ExpectedTraffic:
        """`locations` and `sends` (sent_by) by rank."""
        sent, received = Counter[Location | str](), Counter[Location | str]()
        read, written = Counter[Location](), Counter[Location]()
        crossing: set[int] = set()
        several = len({location.host for location in locations}) > 1
        for rank, (here, peers) in enumerate(zip(locations, sends, strict=True)):
            for peer, count in peers.items():
                there = locations[peer]
                read[here] += count
                written[there] += count
                if here != there:
                    sent[here] += count
                    received[there] += count
                if here.host != there.host:
                    crossing.update((rank, peer))
                if here.host != there.host or not several:
                    sent[here.host] += count
                    received[there.host] += count
        total = sum(sum(peers.values()) for peers in sends)
        return ExpectedTraffic(sent, received, read, written, total, tuple(sorted(crossing)))

    def most(self) -> int:
        """The largest of these counts."""
        return max([*self.sent.values(), *self.received.values()], default=0)
