"""One rank sends message after message, many of them under way at once."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Option, RankRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Step, Team, Transfer
from wirespeed.units import counted


class MessageStream(Pattern):
    """A window of messages, each from a buffer and into a buffer of its own, then a short answer."""

    name = "stream"
    summary = "Measure a window of messages: bandwidth and message rate."
    help = """
    Rank 0 sends a window of messages, all under way at once, each with a buffer of its own; rank 1 answers
    with an empty message when it has them all. The bandwidth is that of the window over the time of both.

    With --both-ways both ranks send a window to each other, and nobody answers. GB/s are then those of ONE
    direction, and the sum of both stands beside them.

    With --pairs N there are 2 x N ranks, and rank i sends to rank i + N, all pairs at once. GB/s and
    messages/s are those of all pairs together, over the time of the slowest pair.

    \b
    Examples:
      wirespeed stream
      wirespeed stream --window 16 --paths all --sizes 8:64M
      wirespeed stream --both-ways --sizes 1M:1G
      wirespeed stream --pairs 4 --hosts n1,n2 --sizes 8,1M
    """
    options = (
        Option("window", "Messages under way at once; fewer where memory does not hold them.", 64, most=4096),
        Option("both-ways", "Both directions at once.", default=False),
        Option("pairs", "Pairs of ranks at once: rank i sends to rank i + N.", 1, most=100_000),
    )

    @property
    def pairs(self) -> int:
        return int(self["pairs"])

    @property
    def rank_rule(self) -> RankRule:
        return RankRule(2 * self.pairs, by_option=True)

    @property
    def timing(self) -> Timing:
        """One pair keeps in step by its answers; several would drift apart, and the slowest end alone."""
        return Timing(slowest=True, barrier=self.pairs > 1)

    def team(self, rank: int, phase: int = 0) -> Team | None:
        """The senders: theirs are the clocks that count."""
        return Team("", range(self.pairs)) if rank < self.pairs else None

    def window(self, size: int) -> int:
        """Messages of this size that memory holds, at most those asked for."""
        asked, memory = int(self["window"]), self.shape.memory
        return asked if not size or memory is None else max(1, min(asked, memory // size))

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        other = rank + self.pairs if rank < self.pairs else rank - self.pairs
        places = [number * size for number in range(self.window(size))]
        window = tuple(Transfer(other, size, place, place) for place in places)
        if self["both_ways"]:
            return [Step(sends=window, receives=window)]
        answer = (Transfer(other, 0),)
        if rank < self.pairs:
            return [Step(sends=window), Step(receives=answer)]
        return [Step(receives=window), Step(sends=answer)]

    def figure(self, size: int) -> Figure:
        count, pairs = self.window(size), self.pairs
        held = counted(count, "message") + ("" if count == self["window"] else " (memory holds no more)")
        where, whose = f"to rank {pairs}", ""
        if pairs > 1:
            where = f"in each of {pairs} pairs (rank i to i + {pairs})"
            whose = " of all pairs, over the time of the slowest"
        total = pairs * count
        if not self["both_ways"]:
            text = f"window: {held} {where} and an empty answer; GB/s of that direction{whose}"
            return Figure(1, total * size, text, (Derived("messages", total, "messages/s"),))
        each = f" {where.replace(' to i', ' and i')}" if pairs > 1 else ""
        text = f"window: {held} each way{each}, both ways at once; GB/s of ONE direction{whose}"
        both = Derived("sum of both", 2 * total * size)
        return Figure(1, total * size, text, (both, Derived("messages each way", total, "messages/s")))


PATTERN = MessageStream()
