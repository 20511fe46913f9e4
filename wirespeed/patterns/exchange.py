"""Two ranks send to each other at the same time, a message of the same size each."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.steps import Figure, Step, Transfer


class Exchange(Pattern):
    """The time in which both messages have arrived; the bandwidth is that of one direction."""

    name = "exchange"
    summary = "Measure both directions at once, by every path."
    help = """
    For each path and size: the time until both ranks' messages have arrived, and the bandwidth of each
    direction (the sum of both is twice that).

    \b
    Examples:
      wirespeed exchange
      wirespeed exchange --paths gpu,ipc-write --sizes 1M:1G
    """

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        other = (Transfer(1 - rank, size),)
        return [Step(sends=other, receives=other)]

    def figure(self, size: int) -> Figure:
        definition = "each way, both at once: time until both messages have arrived; GB/s of one direction"
        return Figure(divisor=1, bytes=size, definition=definition)


PATTERN = Exchange()
