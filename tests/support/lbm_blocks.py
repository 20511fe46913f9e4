"""A lattice Boltzmann grid cut in blocks on one device, whose halos are copied by hand.

As a program it prints a digest of the field for many cuts and launches; the environment says what grid of
threads the emulated GPU has.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from support.lbm_reference import Array

from wirespeed.host.core import core
from wirespeed.programs import lbm_math
from wirespeed.programs.lbm_math import PLACES, Fluid, Layers, LbmBlock, Wave

WALLS = lbm_math.WALL_BELOW | lbm_math.WALL_ABOVE


@dataclass
class Device:
    """Memory and launches. kind: "host" or "emulated"; grid: blocks and threads a launch asks for."""

    kind: str = "host"
    grid: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        self.core = core()
        self.handle = self.core.open_device(self.kind, 0)
        self.memory = b"pageable" if self.kind == "host" else b"device"
        self.addresses: list[int] = []

    def close(self) -> None:
        for address in self.addresses:
            self.core.lib.ws_device_release(self.handle, self.memory, self._pointer(address))
        self.core.lib.ws_device_close(self.handle)

    def put(self, values: Array) -> int:
        """The address of a copy."""
        found = self.core.check(self.core.lib.ws_device_allocate(self.handle, self.memory, values.nbytes))
        address = int(self.core.ffi.cast("uintptr_t", found))
        self.addresses.append(address)
        self._copy(found, self.core.ffi.from_buffer(values), values.nbytes)
        return address

    def get(self, address: int, doubles: int) -> Array:
        values = np.empty(doubles)
        self._copy(self.core.ffi.from_buffer(values), self._pointer(address), values.nbytes)
        return values

    def copy(self, to: int, from_: int, doubles: int) -> None:
        self._copy(self._pointer(to), self._pointer(from_), 8 * doubles)

    def launch(self, kernel: str, *arguments: float) -> None:
        words = [
            struct.unpack("Q", struct.pack("d", each))[0] if isinstance(each, float) else each
            for each in arguments
        ]
        lib = self.core.lib
        done = lib.ws_device_launch(self.handle, self.memory, kernel.encode(), *self.grid, words, len(words))
        self.core.check(done)

    def _pointer(self, address: int) -> object:
        return self.core.ffi.cast("void *", address)

    def _copy(self, to: object, from_: object, size: int) -> None:
        self.core.check(self.core.lib.ws_device_copy(self.handle, to, from_, size))


@dataclass
class Placed:
    """A block in the device's memory. What nothing has written is no number."""

    device: Device
    block: LbmBlock
    x0: int
    y0: int
    sides: int
    fields: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fields = [self.device.put(np.full(self.block.doubles, np.nan)) for _ in range(2)]
        size = self.block.column_doubles if self.block.columns else 1
        self.columns = [self.device.put(np.full(size, np.nan)) for _ in range(4)]

    def step(self, fluid: Fluid, part: int, gate: int = 0) -> None:
        now, then = self.fields
        self.device.launch(
            "ws_lbm_step", gate, part, now, then, *self.block.geometry, self.sides, *fluid.arguments
        )

    def moments(self) -> Array:
        sites = self.block.nx * self.block.ny
        out = self.device.put(np.zeros(4 * sites))
        self.device.launch("ws_lbm_moments", self.fields[0], *self.block.geometry, out)
        return self.device.get(out, 4 * sites).reshape(4, self.block.ny, self.block.nx)

    def populations(self) -> Array:
        nx, ny, pitch, plane, first = self.block.geometry
        rows = self.device.get(self.fields[0], self.block.doubles).reshape(-1, pitch // plane, plane)
        inner = rows[first // pitch :, :, first % pitch :][:ny, :, :nx]
        found: Array = inner.transpose(1, 0, 2)[list(PLACES)]
        return found


class Cut:
    """A grid of the size of `start`, in `across` x `down` blocks."""

    def __init__(self, device: Device, start: Wave | Layers, across: int = 1, down: int = 1) -> None:
        self.walls = isinstance(start, Layers)
        self.size = start.width, start.height
        xs, ys = (
            [size * i // n for i in range(n + 1)] for size, n in zip(self.size, (across, down), strict=True)
        )
        self.blocks: list[list[Placed]] = []
        for row, (low, high) in enumerate(pairwise(ys)):
            sides = lbm_math.COLUMNS if across > 1 else 0
            for end, halo, wall in (
                (row == 0, lbm_math.ROWS_BELOW, lbm_math.WALL_BELOW),
                (row == down - 1, lbm_math.ROWS_ABOVE, lbm_math.WALL_ABOVE),
            ):
                sides |= wall if end and self.walls else halo if down > 1 else 0
            self.blocks.append(
                [
                    Placed(device, LbmBlock(right - left, high - low, across > 1), left, low, sides)
                    for left, right in pairwise(xs)
                ]
            )
        self.device = device
        for placed in self.all:
            device.launch(
                "ws_lbm_init",
                placed.fields[0],
                *placed.block.geometry,
                placed.x0,
                placed.y0,
                *start.initial,
            )

    @property
    def all(self) -> list[Placed]:
        return [placed for row in self.blocks for placed in row]

    def steps(self, count: int, fluid: Fluid, parts: Sequence[int] = (0,)) -> None:
        """Each step is these parts in turn; halos come at the last moment, before what may need them."""
        for _ in range(count):
            exchanged = False
            for part in parts:
                if part != 1 and not exchanged:
                    self.exchange()
                    exchanged = True
                for placed in self.all:
                    placed.step(fluid, part)
            for placed in self.all:
                placed.fields.reverse()

    def exchange(self) -> None:
        """x first, then y with the halo columns."""
        across, down = len(self.blocks[0]), len(self.blocks)
        if across > 1:
            for placed in self.all:
                self._columns("ws_lbm_pack", placed, placed.columns[:2])
            for row in self.blocks:
                for i, placed in enumerate(row):
                    left, right = row[i - 1], row[(i + 1) % across]
                    size = placed.block.column_doubles
                    self.device.copy(placed.columns[2], left.columns[1], size)
                    self.device.copy(placed.columns[3], right.columns[0], size)
                    self._columns("ws_lbm_unpack", placed, placed.columns[2:])
        for lower in range(down if down > 1 else 0):
            upper = (lower + 1) % down
            if self.walls and upper == 0:
                continue
            for below, above in zip(self.blocks[lower], self.blocks[upper], strict=True):
                self._rows(below, above, up=True)
                self._rows(above, below, up=False)

    def _columns(self, kernel: str, placed: Placed, buffers: Sequence[int]) -> None:
        self.device.launch(kernel, placed.fields[0], *placed.block.geometry, *buffers)

    def _rows(self, source: Placed, target: Placed, up: bool) -> None:
        for sent, received in zip(source.block.layers(up), target.block.layers(up), strict=True):
            assert received.doubles == sent.doubles
            to = target.fields[0] + 8 * received.halo
            self.device.copy(to, source.fields[0] + 8 * sent.own, sent.doubles)

    def populations(self) -> Array:
        """The whole field [37, height, width], in the kernels' order."""
        rows = [np.concatenate([placed.populations() for placed in row], axis=2) for row in self.blocks]
        return np.concatenate(rows, axis=1)

    def moments(self) -> Array:
        rows = [np.concatenate([placed.moments() for placed in row], axis=2) for row in self.blocks]
        return np.concatenate(rows, axis=1)


# Grids with tiles of all kinds: rows of several, the last of 2 sites; wide and narrow edge columns; blocks as
# thin as a halo; sizes that the cuts do not divide.
WIDE = Wave("sound-wave", 514, 7, (2, 1), 0.01)
THIN = Wave("shear-wave", 21, 13, (1, 2), 0.01)
MIXING = Layers(40, 24)
CUTS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (3, 2))
SPLITS = ((0,), (1, 2), (2, 1))


def cuts_of(start: Wave | Layers) -> list[tuple[int, int]]:
    """Those whose blocks are not thinner than a halo."""
    width, height = start.width, start.height
    return [(x, y) for x, y in CUTS if width // x >= lbm_math.HALO and height // y >= lbm_math.HALO]


def fluid_of(start: Wave | Layers) -> Fluid:
    return Fluid(0.7, start.gravity) if isinstance(start, Layers) else Fluid(0.8, (1e-3, -2e-3))


def digest(
    device: Device,
    start: Wave | Layers,
    cut: tuple[int, int] = (1, 1),
    parts: Sequence[int] = (0,),
    steps: int = 4,
) -> str:
    """Of every bit of the field after some steps."""
    grid = Cut(device, start, *cut)
    grid.steps(steps, fluid_of(start), parts)
    values = grid.populations()
    assert np.isfinite(values).all()
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def main() -> None:
    for start in (WIDE, THIN, MIXING):
        found = set()
        for number, cut in enumerate(cuts_of(start)):
            for launch in ((1, 1), (3, 64), (2, 33))[number % 3 :]:
                device = Device("emulated", launch)
                found.add(digest(device, start, cut, SPLITS[number % 3], steps=2))
                device.close()
        print(*found)


if __name__ == "__main__":
    main()
