"""Layout of a block of the plane in a buffer, and the launches of jacobi.h on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from wirespeed.patterns.halo import EAST, NORTH, SOUTH, WEST
from wirespeed.patterns.steps import Place, Work
from wirespeed.programs.base import to_lines
from wirespeed.programs.plane import Plane

TILE, STRIP, TILE_ROWS, THREADS = 1024, 32, 4, 256
"""Sizes in jacobi.h: points of a tile in x, of a strip at a cut side; rows of a tile, lanes of a block."""
MAX_BLOCKS = 8192
"""Blocks of a launch that a norm has room for (native/kernels/fields.h)."""
DOWN = 16
"""A bit beside those of `cut`: from the top down."""
ALL, INNER, EDGES, ALL_WAIT = range(4)
"""Parts of a step, as the kernel counts them."""


@dataclass(frozen=True)
class JacobiBlock:
    """Layout of a field, its twin, and the columns beside them in a buffer; offsets and sizes in bytes."""

    nx: int
    ny: int
    real: int
    """Bytes of a number."""

    @property
    def pitch(self) -> int:
        """From one row to the next."""
        return to_lines(self.nx * self.real)

    @property
    def field(self) -> int:
        """A field with its halo rows."""
        return (self.ny + 2) * self.pitch

    def row(self, twin: int, y: int) -> int:
        """A row's first point; the halo is rows -1 and ny."""
        return twin * self.field + (y + 1) * self.pitch

    def column_in(self, twin: int, side: int) -> int:
        """Column beyond the WEST or EAST side."""
        return self._column(twin, side)

    def column_out(self, twin: int, side: int) -> int:
        """Column that the neighbour there needs."""
        return self._column(twin, 2 + side)

    def _column(self, twin: int, number: int) -> int:
        return 2 * self.field + (4 * twin + number) * to_lines(self.ny * self.real)

    @property
    def end(self) -> int:
        return self._column(2, 0)


@dataclass(frozen=True)
class Launches:
    """Launches of jacobi.h on a block's fields, in the buffer that `at` counts in."""

    block: JacobiBlock
    periodic: bool
    neighbours: Collection[int] = ()
    """Sides beyond which another rank has the points."""
    at: type[Place] = Place

    @property
    def _cut(self) -> int:
        return sum(1 << side for side in self.neighbours)

    def step(self, twin: int, part: int, norm: tuple[int | float | Place, ...] = (0,) * 6) -> Work:
        """A step from field `twin` to the other one. `norm`: its last arguments."""
        block, at = self.block, self.at
        real, pitch = block.real, block.pitch // block.real

        def beyond(side: int) -> tuple[Place, int]:
            """The first number beyond a side in x, and how far the next one is."""
            if self.periodic and side not in self.neighbours:
                return at(block.row(twin, 0) + (block.nx - 1) * real * (side == WEST)), pitch
            return at(block.column_in(twin, side)), 1

        def out(side: int) -> Place | int:
            return at(block.column_out(1 - twin, side)) if side in self.neighbours else 0

        wraps = self.periodic and SOUTH not in self.neighbours
        south, north = (block.ny - 1, 0) if wraps else (-1, block.ny)
        fields = at(block.row(twin, 0)), at(block.row(1 - twin, 0))
        layout = block.nx, block.ny, pitch, self._cut | DOWN * twin
        rows = at(block.row(twin, south)), at(block.row(twin, north))
        around = *beyond(WEST), *beyond(EAST), *rows, out(WEST), out(EAST)
        arguments = 0, part, *fields, *layout, *around, 0.0, *norm
        blocks = _blocks(block, frozenset(self.neighbours), part)
        return Work(f"ws_jacobi_step_f{8 * real}", arguments, blocks, THREADS)

    def fill(self, plane: Plane, begin: tuple[int, int], seed: int, *, coarse: bool = False) -> list[Work]:
        """Fills both fields, whose first point is `begin` in the plane. `coarse`: 2 x 2 points are alike."""
        block, at, found = self.block, self.at, []
        for twin in (0, 1):
            columns = [block.column_in(twin, side) for side in (WEST, EAST)]
            columns += [block.column_out(twin, side) for side in (WEST, EAST)]
            layout = at(block.row(twin, 0)), block.nx, block.ny, block.pitch // block.real, self._cut
            of_plane = *begin, plane.width, plane.height, int(not plane.periodic), int(coarse), seed
            arguments: tuple[int | Place, ...] = (*layout, *map(at, columns), *of_plane)
            found.append(Work(f"ws_jacobi_fill_f{8 * block.real}", arguments, 1024, THREADS))
        return found


@cache
def _blocks(block: JacobiBlock, cut: frozenset[int], part: int) -> int:
    """Blocks of threads for the tiles of a part: as many as tiles, but no more than a norm has room for."""
    strips = len(cut & {WEST, EAST}) * -(-block.ny // STRIP)
    across = -(-block.nx // TILE)
    edges = strips + across * len(cut & {SOUTH, NORTH})
    inner = across * -(-block.ny // TILE_ROWS)
    tiles = {ALL: edges + inner, ALL_WAIT: edges + inner, INNER: inner, EDGES: edges}[part]
    return max(1, min(tiles, MAX_BLOCKS))
