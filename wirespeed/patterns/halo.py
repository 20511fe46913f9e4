"""Neighbours in a plane exchange their edges: what a domain decomposition does in every time step."""

from __future__ import annotations

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Option, RankRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Step, Transfer

WEST, EAST, SOUTH, NORTH = range(4)
OPPOSITE = (EAST, WEST, NORTH, SOUTH)
_WAYS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def neighbours(rank: int, grid: tuple[int, int], around: tuple[bool, bool]) -> dict[int, int]:
    """The other rank beyond each side that has one, in a grid of (columns, rows), rank 0 in the south-west.

    `around`: in x and y, are opposite sides neighbours?
    """
    columns, rows = grid
    y, x = divmod(rank, columns)
    found = {}
    for side, (dx, dy) in enumerate(_WAYS):
        there_x = (x + dx) % columns if around[0] else x + dx
        there_y = (y + dy) % rows if around[1] else y + dy
        if (there_x, there_y) != (x, y) and 0 <= there_x < columns and 0 <= there_y < rows:
            found[side] = there_y * columns + there_x
    return found


class Halo(Pattern):
    """Ranks in a grid; each sends one message to each neighbour, all at once."""

    name = "halo"
    summary = "Measure a halo exchange: ranks in a plane, 2 to 4 neighbours."
    help = """
    Ranks stand in a grid as square as their number allows (or --columns wide). In each iteration every rank
    sends a message to each of its neighbours, and receives one; nothing goes round the edges unless
    --periodic. Each sample begins with a barrier; the time is that of the slowest rank.

    \b
    Examples:
      wirespeed halo --ranks 4
      wirespeed halo --ranks 8 --columns 8 --paths all --sizes 4K:4M
    """
    options = (
        Option("columns", "Width of the grid. Default: as square as possible.", None),
        Option("periodic", "The edges of the grid are neighbours, too.", default=False),
    )
    rank_rule = RankRule(None)
    timing = Timing(barrier=True, slowest=True)

    @property
    def grid(self) -> tuple[int, int]:
        """(columns, rows)."""
        columns = self["columns"]
        if columns is None:
            rows = next(n for n in range(int(self.ranks**0.5), 0, -1) if self.ranks % n == 0)
            return self.ranks // rows, rows
        return int(columns), self.ranks // int(columns)

    def refuse(self) -> str | None:
        columns = self["columns"]
        if columns is not None and self.ranks % int(columns):
            return f"{self.ranks} ranks do not fill rows of {columns}"
        return super().refuse()

    def neighbours(self, rank: int) -> dict[int, int]:
        """By side."""
        return neighbours(rank, self.grid, (self["periodic"],) * 2)

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        around = self.neighbours(rank).items()
        # What goes east lands at the western edge there. Two neighbours may be one rank (two columns,
        # periodic): messages between two ranks match in order, so the receives follow their senders' order.
        sends = tuple(Transfer(peer, size, way * size, OPPOSITE[way] * size) for way, peer in around)
        receives = tuple(
            Transfer(peer, size, way * size, OPPOSITE[way] * size)
            for way, peer in sorted(around, key=lambda pair: OPPOSITE[pair[0]])
        )
        return [Step(sends, receives)]

    def figure(self, size: int) -> Figure:
        columns, rows = self.grid
        # A corner, and a rank inside: one of them has the most neighbours.
        some = 0, min(1, rows - 1) * columns + min(1, columns - 1)
        most = max(len(self.neighbours(rank)) for rank in some)
        definition = (
            f"slowest rank: all edges of a {columns} x {rows} grid at once; GB/s out of a rank with {most} "
            f"neighbour{'s' if most != 1 else ''}"
        )
        return Figure(1, most * size, definition, (Derived("both ways", 2 * most * size),))


PATTERN = Halo()
