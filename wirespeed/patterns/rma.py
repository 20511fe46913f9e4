"""One rank reads, writes and adds to another one's memory, one operation at a time, without an answer."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Checking, Kind, Option, SizeRule, Timing
from wirespeed.patterns.steps import Figure, Step, Sums, Team, Transfer

PUT, GET, FETCH_ADD, LOAD = "put", "get", "fetch-add", "load"
WORD = 8
"""Bytes that a fetch-and-add reads and changes, and that a load reads."""
LINE = 128
"""Bytes of memory for each link of a chain (native/kernels/chase.h)."""
START = 2.0**52
"""From here to its double, adding 1 to a double and to its bits as a whole number is the same."""
ENDS = {
    PUT: "put: from the call until the flush has ended, the bytes are in the target's memory",
    GET: "get: from the call until the flush has ended, the bytes are in the origin's memory",
    FETCH_ADD: "fetch-and-add: from the call until the flush has ended, the word before is at the origin",
    LOAD: "load: one load of 8 bytes whose address the load before brought, in a chain over SIZE bytes",
}


class Rma(Pattern):
    """Latency of an operation that is complete at both ends before the next one begins."""

    name = "rma"
    summary = "Measure one-sided put, get and fetch-and-add: their latency."
    help = """
    Rank 0 writes into rank 1's memory (put), reads it (get) or adds 1 to a word of 8 bytes there and gets
    what it was before (fetch-add). The time is that of one call and its flush: the operation is complete at
    the origin and at the target then. Rank 1 waits in a barrier meanwhile, and answers nothing.

    A load is one instruction of a GPU's thread: it follows a chain of pointers that lies in random order in
    SIZE bytes of the other GPU's memory (gpu-load), or of its own (gpu-load-own). The time is that of one
    load. --sizes is 64K:1G in steps of 4 then.

    \b
    Examples:
      wirespeed rma
      wirespeed rma --operation put,get,fetch-add --sizes 8:64K
      wirespeed rma --operation load
      wirespeed rma --operation load --paths gpu-load --sizes 2M
    """
    options = (
        Option(
            "operation",
            "What rank 0 does, or several as in put,get,fetch-add.",
            PUT,
            choices=(PUT, GET, FETCH_ADD, LOAD),
            many=True,
            for_transport=True,
        ),
    )
    kind = Kind(one_sided=True)

    @property
    def operation(self) -> str:
        return str(self["operation"])

    @property
    def timing(self) -> Timing:
        """A chain to follow, and a word that counts, lie in the buffer."""
        return Timing(goes_on=self.operation in (LOAD, FETCH_ADD))

    @property
    def size_rule(self) -> SizeRule:
        rules = {FETCH_ADD: SizeRule(fixed=(WORD,)), LOAD: SizeRule("64K,256K,1M,4M,16M,64M,256M,1G")}
        return rules.get(self.operation, SizeRule("1:1M"))

    @property
    def checking(self) -> Checking:
        if self.operation == LOAD:
            return Checking("loads", links=self.links)
        return Checking(sums=self.sums if self.operation == FETCH_ADD else None)

    @staticmethod
    def links(size: int) -> int:
        return max(size // LINE, 2)

    def extent(self, rank: int, size: int) -> int:
        return max(super().extent(rank, size), LINE * self.links(size) * (self.operation == LOAD))

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        """As the bytes go; of a fetch-and-add, those of the change; of loads, the chain."""
        other = (Transfer(1 - rank, size),)
        sends = (rank == 0) != (self.operation in (GET, LOAD))
        return [Step(sends=other) if sends else Step(receives=other)]

    @staticmethod
    def sums(rank: int, size: int, iterations: int = 1) -> Sums:
        """The origin ends with the word as the last one found it, the target with one more each time."""
        if rank == 0:
            return Sums(WORD, 0.0, START + iterations - 1)
        return Sums(WORD, START, START + iterations)

    def team(self, rank: int, phase: int = 0) -> Team | None:
        return Team("", range(1)) if rank == 0 else None

    def figure(self, size: int) -> Figure:
        return Figure(1, 0 if self.operation == LOAD else size, ENDS[self.operation])


PATTERN = Rma()
