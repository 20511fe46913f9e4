"""One rank reads, writes and adds to another one's memory, one operation at a time, without an answer."""

from __future__ import annotations

from typing import Any

from wirespeed.patterns.base import Figure, Option, Pattern, Shape, Step, Sums, Team, Transfer

PUT, GET, FETCH_ADD = "put", "get", "fetch-add"
WORD = 8
"""Bytes that a fetch-and-add reads and changes."""
START = 2.0**52
"""From here to its double, adding 1 to a double and to its bits as a whole number is the same."""
ENDS = {
    PUT: "put: from the call until the flush has ended, the bytes are in the target's memory",
    GET: "get: from the call until the flush has ended, the bytes are in the origin's memory",
    FETCH_ADD: "fetch-and-add: from the call until the flush has ended, the word before is at the origin",
}


class Rma(Pattern):
    """Latency of an operation that is complete at both ends before the next one begins."""

    name = "rma"
    summary = "Measure one-sided put, get and fetch-and-add: their latency."
    help = """
    Rank 0 writes into rank 1's memory (put), reads it (get) or adds 1 to a word of 8 bytes there and gets
    what it was before (fetch-add). The time is that of one call and its flush: the operation is complete at
    the origin and at the target then. Rank 1 waits in a barrier meanwhile, and answers nothing.

    \b
    Examples:
      wirespeed rma
      wirespeed rma --operation put,get,fetch-add --sizes 8:64K
    """
    options = (
        Option(
            "operation",
            "What rank 0 does, or several as in put,get,fetch-add.",
            PUT,
            choices=(PUT, GET, FETCH_ADD),
            many=True,
            for_transport=True,
        ),
    )
    sizes = "1:1M"
    one_sided = True

    @staticmethod
    def operation(options: Any) -> str:
        return str(options.get("operation", PUT))

    def fixed_sizes(self, shape: Shape) -> tuple[int, ...] | None:
        return (WORD,) if self.operation(shape.options) == FETCH_ADD else None

    def steps(self, rank: int, shape: Shape, size: int, phase: int = 0) -> list[Step]:
        """As the bytes go; of a fetch-and-add, those of the change."""
        other = (Transfer(1 - rank, size),)
        sends = (rank == 0) != (self.operation(shape.options) == GET)
        return [Step(sends=other) if sends else Step(receives=other)]

    def sums(self, rank: int, shape: Shape, size: int) -> Sums | None:
        """The origin ends with the word as it was before, the target with one more."""
        if self.operation(shape.options) != FETCH_ADD:
            return None
        return Sums(WORD, 0.0, START) if rank == 0 else Sums(WORD, START, START + 1)

    def team(self, rank: int, shape: Shape, phase: int = 0) -> Team | None:
        return Team("", range(1)) if rank == 0 else None

    def figure(self, shape: Shape, size: int) -> Figure:
        return Figure(1, size, ENDS[self.operation(shape.options)])


PATTERN = Rma()
