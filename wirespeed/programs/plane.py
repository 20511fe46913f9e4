"""Division of a plane of points between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns.halo import neighbours


def parse_grid(word: str) -> tuple[int, int]:
    """Width and height of "4096x2048"."""
    width, height = word.split("x")
    return int(width), int(height)


@dataclass(frozen=True)
class Plane:
    """`columns` x `rows` ranks, each with a block of nx x ny points; rank 0 has the lowest x and y."""

    columns: int
    rows: int
    nx: int
    ny: int
    periodic: bool
    walled: bool = False
    """Periodic in x alone: walls lie below and above."""

    @property
    def width(self) -> int:
        """Points of the whole plane in x."""
        return self.columns * self.nx

    @property
    def height(self) -> int:
        return self.rows * self.ny

    def origin(self, rank: int) -> tuple[int, int]:
        """The place of a rank's first point in the plane."""
        y, x = divmod(rank, self.columns)
        return x * self.nx, y * self.ny

    def neighbours(self, rank: int) -> dict[int, int]:
        """The other rank beyond each side that has one: WEST, EAST, SOUTH, NORTH."""
        around = self.periodic, self.periodic and not self.walled
        return neighbours(rank, (self.columns, self.rows), around)


def divisions(ranks: int) -> list[tuple[int, int]]:
    """(columns, rows) of every way to place them, fewest columns first."""
    return [(n, ranks // n) for n in range(1, ranks + 1) if ranks % n == 0]


def smallest_halo(sizes: Sequence[tuple[tuple[int, int], int, int]]) -> tuple[tuple[int, int], int, int]:
    """The division, of ((columns, rows), nx, ny), whose rank has the fewest points at cut sides.

    Of equals the one with fewer columns: rows of points are contiguous.
    """

    def points(pair: tuple[tuple[int, int], int, int]) -> int:
        (columns, rows), nx, ny = pair
        return 2 * ny * (columns > 1) + 2 * nx * (rows > 1)

    return min(sizes, key=points)
