"""Every rank copies inside itself: between its device and the host, each alone and all at once."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Kind, Option, RankRule, Shown, SizeRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Step, Team, Transfer

NODE = "NUMA node that host memory comes from. Default: any, then each one where there are several."


class Copy(Pattern):
    """First each rank alone, while the others wait; then all of them at the same time."""

    name = "copy"
    summary = "Measure copies between host and device, and on the device."
    help = """
    For each kind of copy and size: every rank alone, then all ranks at once. The figure is that of the
    slowest rank while all copy; a second table has a line for each rank, and a slow one is named.

    On a machine with several NUMA nodes all this is done again with host memory of each of them.

    With --both-ways each copy to the device runs at the same time as one of the same size from it, in two
    streams; GB/s are those of both together.

    With --messages the ping-pong from pageable and from pinned memory follows, in the same file: what pinning
    is worth to messages.

    \b
    Examples:
      wirespeed copy
      wirespeed copy --paths 'h2d-*' --sizes 4K:1G
      wirespeed copy --ranks 1 --between 3
      wirespeed copy --both-ways --sizes 256M
      wirespeed copy --messages
    """
    options = (
        Option("node", NODE, None, least=0, for_transport=True, each_node=True),
        Option("both-ways", "To the device and from it at once.", default=False),
    )
    rank_rule = RankRule(None)
    size_rule = SizeRule("4K,64K,1M,16M,1G")
    kind = Kind(intra_rank=True)
    shown = Shown("copies", by_size=False, followed_by=(("pingpong", ("host", "host-pinned")),))

    @property
    def timing(self) -> Timing:
        together = self.ranks if self.ranks > 1 else 0
        return Timing(barrier=True, alone_too=True, phases=together + 1, reported=together, budget_s=20.0)

    def _copies(self, rank: int, phase: int) -> bool:
        return phase in (rank, self.timing.reported)

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        if not self._copies(rank, phase):
            return []
        own: tuple[Transfer, ...] = (Transfer(rank, size),)
        if self["both_ways"]:
            own += (Transfer(rank, size, size, size, back=True),)
        return [Step(sends=own, receives=own)]

    def extent(self, rank: int, size: int) -> int:
        return 2 * size if self["both_ways"] else size

    def team(self, rank: int, phase: int = 0) -> Team | None:
        if not self._copies(rank, phase):
            return None
        how = "alone" if self.ranks > 1 and phase < self.ranks else "with all"
        return Team(f"rank {rank} {how}", (rank,))

    def figure(self, size: int) -> Figure:
        text, moved, ways = "one copy: until it is done", size, ""
        each: tuple[Derived, ...] = ()
        if self["both_ways"]:
            text, moved = "two copies: one each way, until both are done", 2 * size
            ways = ", both ways together"
            each = (Derived("each way", size),)
        if self.ranks == 1:
            return Figure(1, moved, f"{text}; GB/s of{ways[1:]}" if ways else text, each)
        text += f", slowest of {self.ranks} ranks that copy at once; GB/s of one rank{ways}"
        return Figure(1, moved, text, (*each, Derived("all ranks", self.ranks * moved)))


PATTERN = Copy()
