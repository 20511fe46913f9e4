"""Buffers go round a ring of ranks, and each rank adds to what comes by."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Checking, Kind, Option, RankRule, Shown, SizeRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Place, Step, Sums, Transfer, Work

MAX_STEPS = 128
"""Default limit per iteration: a rank of a large ring need not know all of them."""
MAX_BLOCKS = 528
"""Blocks of a sum: enough for every GPU's memory."""


class Ring(Pattern):
    """As programs do that pass partial results on: receive, add on the device, send."""

    name = "ring"
    summary = "Measure buffers that rotate through all ranks, with sums."
    help = """
    In each step every rank sends its buffer of doubles to the next rank, receives that of the one before,
    and adds its own number (rank + 1) to each double of it, where the buffer lies: on the GPU for device
    memory. An iteration is --steps steps: once round the ring (twice where the number of ranks is odd), but
    at most 128.

    What comes out is checked against the closed form: after once round p ranks a double has grown by
    p x (p + 1) / 2.

    \b
    Examples:
      wirespeed ring --ranks 8 --sizes 8,1M,64M
      wirespeed ring --paths aware,staged      # device pointers against staging
    """
    options = (Option("steps", "Steps per iteration, an even number.", None, 2),)
    rank_rule = RankRule(None)
    size_rule = SizeRule("8,4K,64K,1M,16M,256M")
    kind = Kind(in_place=True)
    timing = Timing(slowest=True)
    shown = Shown(counts_copies=True)

    def refuse(self) -> str | None:
        if self.steps_of % 2:
            return f"--steps {self.steps_of}: write an even number; two buffers take turns"
        return super().refuse()

    @property
    def steps_of(self) -> int:
        """Steps per iteration."""
        return int(self["steps"] or min(self.ranks * (1 + self.ranks % 2), MAX_STEPS))

    @staticmethod
    def whole(size: int) -> int:
        """Bytes of whole doubles, one at least."""
        return max(size // 8, 1) * 8

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        after, before, bytes_ = (rank + 1) % self.ranks, (rank - 1) % self.ranks, self.whole(size)
        return [
            Step(
                (Transfer(after, bytes_, out, remote_offset=into),),
                (Transfer(before, bytes_, into, remote_offset=out),),
                (self._sum(bytes_, into, rank + 1.0),),
            )
            # Two steps, over two buffers that take turns; their number is even.
            for out, into in [(0, bytes_), (bytes_, 0)] * (self.steps_of // 2)
        ]

    @staticmethod
    def _sum(bytes_: int, at: int, value: float) -> Work:
        """Adds `value` to each double of a place."""
        threads = 256
        blocks = min(-(-bytes_ // (8 * threads)), MAX_BLOCKS)
        return Work("ws_sums_add", (Place(at), bytes_ // 8, value), blocks, threads)

    def extent(self, rank: int, size: int) -> int:
        return 2 * self.whole(size)

    @property
    def checking(self) -> Checking:
        return Checking(sums=self.sums)

    def sums(self, rank: int, size: int, iterations: int = 1) -> Sums:
        steps, ranks = iterations * self.steps_of, self.ranks
        turns, rest = divmod(steps, ranks)
        # What is here at the end began `steps` places back and went by all ranks in between.
        begin = (rank - steps) % ranks
        grown = turns * ranks * (ranks + 1) // 2 + sum((begin + k) % ranks + 1 for k in range(1, rest + 1))
        return Sums(self.whole(size), before=self.start(rank), after=self.start(begin) + grown)

    @staticmethod
    def start(rank: int) -> float:
        """The first double of a rank's buffer before an iteration."""
        return 1e6 * rank

    def figure(self, size: int) -> Figure:
        steps = self.steps_of
        definition = (
            f"iteration: {steps} steps of send, receive and add on {self.ranks} ranks, slowest rank; "
            "GB/s sent by each rank"
        )
        return Figure(1, steps * self.whole(size), definition, (Derived("a step", 1 / steps, "s"),))


PATTERN = Ring()
