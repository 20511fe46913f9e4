"""All ranks' clocks against rank 0's.

Ranks of one host read the same monotonic clock, unless a container has given some a time namespace of their
own. Other clocks are compared by exchanges of messages: of these the fastest one bounds the error, because
the other rank read its clock between rank 0's two readings.
"""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.job.messages import ClockPlace, Row
from wirespeed.rank.ranges import Ranges
from wirespeed.rank.world import World

EXCHANGES = 20
Exchange = tuple[int, int, int]
"""Nanoseconds: rank 0's clock, the other's, rank 0's again."""


@dataclass(frozen=True)
class Offset:
    """Lead of a clock over rank 0's, in nanoseconds."""

    at: int
    """Rank 0's clock then."""
    ahead: int
    uncertainty: int


def offset(exchanges: list[Exchange]) -> Offset:
    """By the fastest exchange; its uncertainty is half its round trip."""
    sent, theirs, answered = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    middle = (sent + answered) // 2
    return Offset(middle, theirs - middle, -(-(answered - sent) // 2))


def ahead_at(theirs: int, first: Offset, last: Offset) -> int:
    """Lead of the clock when it read `theirs`: on the line through the two comparisons."""
    span = last.at + last.ahead - first.at - first.ahead
    share = (theirs - first.at - first.ahead) / span if span > 0 else 0.0
    return first.ahead + round(min(max(share, 0.0), 1.0) * (last.ahead - first.ahead))


class ClockOffsets:
    """Compares the clocks of all ranks; its construction and compare() are collective."""

    def __init__(self, comm: World, ranges: Ranges) -> None:
        self._comm, self._ranges = comm, ranges
        clocks = comm.everyone(ranges.clock_name)
        self.shared = clocks[0]
        self._leaders = [clocks.index(clock) for clock in clocks]
        """The first rank with the same clock, of each rank."""
        self._found: dict[int, list[Offset]] = {}
        self.compare()

    def compare(self) -> None:
        """Compares once more; the ranges between two comparisons are placed by both."""
        for leader in sorted(set(self._leaders) - {0}):
            found = [self._exchange(leader) for _ in range(EXCHANGES)]
            self._found.setdefault(leader, []).append(offset(found))

    def _exchange(self, leader: int) -> Exchange:
        """The leader reads its clock after rank 0 has read its own, and before it does so again."""
        sent = self._comm.share(self._ranges.clock())
        theirs = self._comm.share(self._ranges.clock(), root=leader)
        return sent, theirs, self._ranges.clock()

    def place(self, rank: int, rows: list[Row]) -> tuple[tuple[Row, ...], ClockPlace]:
        """On rank 0: that rank's ranges on rank 0's clock, and what is known of its own."""
        leader = self._leaders[rank]
        if not leader:
            return tuple(rows), ClockPlace(same=True, ahead=0, uncertainty=0)
        first, last = self._found[leader][0], self._found[leader][-1]

        def moved(moment: int) -> int:
            return moment - ahead_at(moment, first, last)

        uncertainty = max(first.uncertainty, last.uncertainty)
        placed = ((kind, name, moved(begin), moved(end), facts) for kind, name, begin, end, facts in rows)
        return tuple(placed), ClockPlace(same=False, ahead=first.ahead, uncertainty=uncertainty)
