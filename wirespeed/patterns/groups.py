"""Groups of ranks: member i of each exchanges with member i of every other one."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Option, RankRule, Shown, SizeRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Step, Team, Transfer

WORD = 32
"""Bytes of what --count counts."""


class Groups(Pattern):
    """Traffic out of one group: the bisection bandwidth where groups are nodes or halves."""

    name = "groups"
    summary = "Measure what groups of ranks exchange: bisection bandwidth."
    help = """
    Ranks are cut into groups of --group, in order. Member i of a group sends to member i of every other
    group and receives from it, all at once; nobody sends to itself. Each sample begins with a barrier, and
    a group's time is that of its slowest rank.

    \b
    With p ranks in groups of g and messages of n bytes:
      GB/s out of a group   = g x (p/g - 1) x n / time
      GB/s both ways        = twice that
    The figure shown is that of the slowest group; the file has each group's.

    \b
    Examples:
      wirespeed groups --ranks 8 --group 4
      wirespeed groups --ranks 2,4,8 --group 1,2,4 --paths all --sizes 1M:256M
      srun -N 2 --ntasks-per-node 4 wirespeed groups --group 4
    """
    options = (
        Option("group", "Ranks in a group, or several as in 1,2,4.", 1, many=True),
        Option(
            "count",
            "Words of 32 bytes in a message, instead of --sizes, as other testers count.",
            None,
        ),
    )
    rank_rule = RankRule(None)
    timing = Timing(barrier=True, slowest=True)
    shown = Shown(by_host=True)

    @property
    def group(self) -> int:
        """Ranks in a group."""
        return int(self["group"])

    def refuse(self) -> str | None:
        size = self.group
        if self.ranks % size:
            allowed = ", ".join(str(g) for g in range(1, self.ranks // 2 + 1) if self.ranks % g == 0)
            return f"{self.ranks} ranks do not fall into groups of {size}; --group may be {allowed}"
        if self.ranks // size < 2:
            return f"{self.ranks} ranks in groups of {size} are one group: it takes two or more"
        return None

    @property
    def size_rule(self) -> SizeRule:
        count = self["count"]
        return SizeRule() if count is None else SizeRule(fixed=(WORD * int(count),), fixed_by="--count")

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        width = self.group
        mine, member = divmod(rank, width)
        count = self.ranks // width
        sends, receives = [], []
        # Each begins with the group after its own, so that not all send to the first one at first.
        for distance in range(1, count):
            place = (distance - 1) * size
            to, source = (mine + distance) % count, (mine - distance) % count
            sends.append(Transfer(to * width + member, size, place, place))
            receives.append(Transfer(source * width + member, size, place, place))
        return [Step(tuple(sends), tuple(receives))]

    def team(self, rank: int, phase: int = 0) -> Team | None:
        width = self.group
        first = rank // width * width
        return Team(f"group {rank // width}", range(first, first + width))

    def figure(self, size: int) -> Figure:
        width = self.group
        out = width * (self.ranks // width - 1) * size
        definition = (
            f"slowest group: its {width} x {self.ranks // width - 1} messages out and as many in, all "
            "groups at once; GB/s out of one group"
        )
        return Figure(1, out, definition, (Derived("both ways", 2 * out),))


PATTERN = Groups()
