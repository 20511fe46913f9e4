"""The launches of jacobi_deep.h: several time steps in one pass over memory."""

from __future__ import annotations

from functools import cache

from wirespeed.patterns.base import Place, Work
from wirespeed.programs.jacobi_blocks import DOWN, JacobiBlock, blocks_of
from wirespeed.programs.plane import EAST, NORTH, SOUTH, WEST

DEPTHS = ("1", "2", "4")
"""Steps of a pass; 1 is jacobi.h."""
THREADS = 128
_FIXED, _WRAPS = 32, 64
_OVERLAP, _LANES = 4, 32
_CHUNK = {2: 56, 4: 70}
"""Rows of a chunk, by the steps of a pass."""


def deep_work(
    block: JacobiBlock, twin: int, part: int, cut: int, periodic: bool, norm: tuple[int | float | Place, ...]
) -> Work:
    """A pass from field `twin` to the other one. norm: as the kernel takes it, `parts` included."""
    pitch = block.pitch // block.real
    bits = cut | DOWN * twin | (0 if periodic else _FIXED)
    if periodic and not cut >> SOUTH & 1:
        bits |= _WRAPS
    arguments: tuple[int | float | Place, ...] = (
        0,
        part,
        Place(block.row(twin, 0)),
        Place(block.row(1 - twin, 0)),
        block.nx,
        block.ny,
        pitch,
        bits,
        Place(block.column_in(twin, WEST)),
        Place(block.column_in(twin, EAST)),
        0.0,
        *norm,
    )
    kernel = f"ws_jacobi_deep{block.depth}_f{8 * block.real}"
    return Work(kernel, arguments, _blocks(block, cut, part), THREADS)


@cache
def _blocks(block: JacobiBlock, cut: int, part: int) -> int:
    warps, width = THREADS // _LANES, _LANES * 16 // block.real - 2 * _OVERLAP
    strips, sides = -(-block.nx // width), sum(cut >> side & 1 for side in (SOUTH, NORTH))
    edges = -(-strips * sides // warps)
    inner = -(-strips * -(-(block.ny - sides * block.depth) // _CHUNK[block.depth]) // warps)
    return blocks_of(part, edges, inner)


def refusal(depth: int, nx: int, ny: int, every: int) -> str | None:
    """Why a block cannot have so many steps a pass."""
    if nx % _OVERLAP:
        return f"--depth {depth}: a block is {nx} points wide; write a width that is a multiple of {_OVERLAP}"
    if ny < 2 * depth:
        return (
            f"--depth {depth}: a block of {ny} rows is thinner than its two halos of {depth}; "
            "write a larger size or start fewer ranks"
        )
    if every > 1:
        return f"--depth {depth} takes the norm in every step or in none: --norm-every 1 or 0"
    return None
