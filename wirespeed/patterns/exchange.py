"""Two ranks send to each other at the same time, a message of the same size each."""

from __future__ import annotations

from wirespeed.patterns import Figure, Shape, Step, Transfer


class Exchange:
    """The time in which both messages have arrived; the bandwidth is that of one direction."""

    name = "exchange"
    summary = "two ranks send to each other at once: time until both messages have arrived"

    def refuse(self, shape: Shape) -> str | None:
        if shape.ranks == 2:
            return None
        return f"an exchange takes exactly two ranks, not {shape.ranks}: start it with -n 2"

    def steps(self, rank: int, shape: Shape, size: int) -> list[Step]:
        other = (Transfer(1 - rank, size),)
        return [Step(sends=other, receives=other)]

    def figure(self, shape: Shape, size: int) -> Figure:
        definition = "each way, both at once: time until both messages have arrived; GB/s of one direction"
        return Figure(divisor=1, bytes=size, definition=definition)


PATTERN = Exchange()
