"""The program jacobi in numpy, written apart from the kernels: its start, its steps and their norms."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.simulated import Ranks

from wirespeed.programs.jacobi import PATTERN

Array = NDArray[Any]


def field(ranks: Ranks) -> Array:
    """The whole plane as [y, x], from what comparisons() compare."""
    plane = PATTERN.at(ranks.shape).divided
    kind = np.dtype(f"f{int(str(ranks.shape.options.get('fp', '32'))) // 8}")
    whole = np.empty((plane.height, plane.width), kind)
    for rank in range(ranks.shape.ranks):
        (one,) = PATTERN.at(ranks.shape).comparisons(rank)
        raw = ranks.read(rank, one.own, one.own_pitch * (one.rows - 1) + one.row_bytes)
        x, y = plane.origin(rank)
        for row in range(one.rows):
            numbers = np.frombuffer(raw, kind, one.row_bytes // kind.itemsize, row * one.own_pitch)
            whole[y + row, x : x + plane.nx] = numbers
    return whole


def noise(width: int, height: int, seed: int, kind: Any, coarse: int = 0) -> Array:
    """jacobi.h's start, with a frame of the values beyond the sides; coarse: 2 x 2 points are alike."""
    mask = (1 << 64) - 1
    result = np.empty((height + 2, width + 2), kind)
    for y in range(height + 2):
        for x in range(width + 2):
            place = ((y + coarse) >> coarse) * (width + 2) + ((x + coarse) >> coarse)
            word = ((place + 1) * 0x9E3779B97F4A7C15 + seed * 0xD6E8FEB86659FD93) & mask
            word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
            word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
            result[y, x] = 1 + ((word ^ (word >> 31)) >> 41) / 2**23
    return result


def relaxed(frame: Array, steps: int, periodic: bool) -> tuple[Array, list[float]]:
    """The iteration in numpy, with the kernel's order of sums; and the norm of each step."""
    norms, quarter = [], frame.dtype.type(0.25)
    frame = frame.copy()
    for _ in range(steps):
        if periodic:
            frame[0], frame[-1] = frame[-2], frame[1]
            frame[:, 0], frame[:, -1] = frame[:, -2], frame[:, 1]
        west, east, south, north = frame[1:-1, :-2], frame[1:-1, 2:], frame[:-2, 1:-1], frame[2:, 1:-1]
        new = quarter * (((west + east) + (south + north)) + frame.dtype.type(0))
        norms.append(float(np.sum((new - frame[1:-1, 1:-1]).astype("f8") ** 2)))
        frame[1:-1, 1:-1] = new
    return frame[1:-1, 1:-1], norms


def norm(ranks: Ranks, rank: int) -> list[float]:
    return [
        struct.unpack("<d", ranks.read(rank, one.own, 8))[0] for one in PATTERN.at(ranks.shape).norms(rank)
    ]
