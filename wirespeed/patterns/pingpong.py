"""Two ranks take turns: rank 0 sends, rank 1 answers with a message of the same size."""

from __future__ import annotations

from wirespeed.patterns import Figure, Shape, Step, Transfer


class PingPong:
    """Half of a round trip is the one-way time."""

    name = "pingpong"
    summary = "one-way time between two ranks: half of a round trip"

    def refuse(self, shape: Shape) -> str | None:
        if shape.ranks == 2:
            return None
        return f"a ping-pong takes exactly two ranks, not {shape.ranks}: start it with -n 2"

    def steps(self, rank: int, shape: Shape, size: int) -> list[Step]:
        other = (Transfer(1 - rank, size),)
        send, receive = Step(sends=other), Step(receives=other)
        return [send, receive] if rank == 0 else [receive, send]

    def figure(self, shape: Shape, size: int) -> Figure:
        return Figure(divisor=2, bytes=size, definition="one way: half of a round trip")


PATTERN = PingPong()
