"""How many bytes an iteration must move across the edges of GPUs and of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns import Step


@dataclass(frozen=True)
class Location:
    """Where a rank and its data are."""

    host: str
    device: str | None
    """Identity of its GPU; None: it works in host memory."""


def sent_by(steps: Sequence[Step]) -> dict[int, int]:
    """Bytes that a rank sends in one iteration, by peer."""
    sums: dict[int, int] = {}
    for step in steps:
        for transfer in step.sends:
            sums[transfer.peer] = sums.get(transfer.peer, 0) + transfer.bytes
    return sums


@dataclass
class ExpectedTraffic:
    """Bytes per iteration out of and into each GPU (a Location) and each host (its name)."""

    sent: dict[Location | str, int]
    received: dict[Location | str, int]
    total: int

    @staticmethod
    def of(locations: Sequence[Location], sends: Sequence[dict[int, int]]) -> ExpectedTraffic:
        """`locations` and `sends` (sent_by) by rank."""
        sent: dict[Location | str, int] = {}
        received: dict[Location | str, int] = {}
        several = len({one.host for one in locations}) > 1

        def add(out_of: Location | str, into: Location | str, count: int) -> None:
            sent[out_of] = sent.get(out_of, 0) + count
            received[into] = received.get(into, 0) + count

        total = 0
        for here, peers in zip(locations, sends, strict=True):
            for peer, count in peers.items():
                there = locations[peer]
                total += count
                if here != there:
                    add(here, there, count)
                if here.host != there.host or not several:
                    add(here.host, there.host, count)
        return ExpectedTraffic(sent, received, total)

    def most(self) -> int:
        """The largest of these counts."""
        return max([*self.sent.values(), *self.received.values()], default=0)
