"""A thermal lattice Boltzmann method, D2Q37: halos of three layers of the populations that cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wirespeed.patterns.halo import EAST, NORTH, OPPOSITE, SOUTH, WEST
from wirespeed.patterns.rules import Option
from wirespeed.patterns.steps import Place, Step, Transfer, Work
from wirespeed.programs.base import (
    Constant,
    FieldComparison,
    ProgramFacts,
    ProgramPattern,
    Sampling,
    Scratch,
    Values,
    options,
    to_lines,
)
from wirespeed.programs.cells import means
from wirespeed.programs.conserved import ROUNDING, Conservation, ConservedSum
from wirespeed.programs.lbm_math import (
    BYTES_PER_SITE,
    COLUMNS,
    DOWN,
    HALO,
    OPERATIONS_PER_SITE,
    PLACES,
    ROWS_ABOVE,
    ROWS_BELOW,
    THREADS,
    VELOCITIES,
    WALL_ABOVE,
    WALL_BELOW,
    Fluid,
    Layers,
    LbmBlock,
    Wave,
    temperature,
)

CASES = ("shear-wave", "sound-wave", "heat", "rayleigh-taylor")
TAU = 0.6
"""Relaxation time in steps."""
PERIOD = 2
"""Steps of an iteration: two fields take turns."""
ALL, INNER, EDGES, ALL_WAIT = range(4)
"""Parts of a step, as the kernel counts them."""
REAL = 8
WAVE = 64
"""Points in x and y from one wave to the next: long enough for theory, and it decays in few steps."""
SAMPLES = {"shear-wave": 3, "sound-wave": 8, "heat": 3}
"""Number of samples of a constant, by case."""
CONSTANTS = {
    "shear-wave": ("viscosity", "sites^2/step"),
    "sound-wave": ("speed of sound", "sites/step"),
    "heat": ("thermal diffusivity", "sites^2/step"),
}
STEP_ROUNDINGS = 128
"""Relative to a quantity, of a step at most: 19 of each sum over the populations, which the equilibrium takes
up two or three at a time, 12 of the equilibrium's polynomial, one of each population's last addition; and as
many again for the constants of the lattice, which are rounded, and for relaxation beyond the equilibrium."""
SET_UP = 1024, 128
"""Blocks and threads of kernels that only prepare."""


class Lbm(ProgramPattern):
    """The time of a step: every population moves on, and collides."""

    name = "lbm"
    summary = "Measure a lattice Boltzmann solver, D2Q37, fp64."
    help = """
    A thermal lattice Boltzmann method with 37 populations in double precision: propagation and collision in
    one kernel, halos of three layers. Cuts across y send rows as they lie; cuts across x
    pack columns first, and their halos travel on with the rows, which carries the corners.

    Before and after the samples every population of every site is compared bit by bit with that of a rank
    which computes its part of the grid alone. A wave's case also gives a constant of physics beside theory.

    --ranks 1 measures the computation alone, without communication, which efficiency refers to.

    \b
    Examples:
      wirespeed lbm --ranks 1,2
      wirespeed lbm --case rayleigh-taylor --paths gpu,aware,staged
      wirespeed lbm --case rayleigh-taylor --size 512x192 --steps 5000 --picture mushrooms.png
    """
    prefers_rows = True
    halo = HALO
    options = (
        *options((400, 40), ("8192x1024", "256x128"), "strong"),
        Option("case", "What flows.", "shear-wave", choices=CASES),
    )

    @property
    def facts(self) -> ProgramFacts:
        return ProgramFacts.of(self.divided, steps=PERIOD, bytes_=BYTES_PER_SITE, flops=OPERATIONS_PER_SITE)

    @property
    def walled(self) -> bool:
        return str(self["case"]) == "rayleigh-taylor"

    def _start(self, seed: int) -> Wave | Layers:
        """The state at rest with what moves it; each seed has another one."""
        plane, case = self.divided, str(self["case"])
        if self.walled:
            return Layers(plane.width, plane.height, rough=2 + seed / 64)
        waves = max(1, round(plane.width / WAVE)), max(1, round(plane.height / WAVE))
        return Wave(case, plane.width, plane.height, waves, 1e-3 * (1 + seed / 64))

    @property
    def _fluid(self) -> Fluid:
        start = self._start(0)
        return Fluid(TAU, start.gravity) if isinstance(start, Layers) else Fluid(TAU)

    @property
    def _block(self) -> LbmBlock:
        plane = self.divided
        return LbmBlock(plane.nx, plane.ny, columns=plane.columns > 1)

    def _field(self, twin: int) -> int:
        """Where a field lies in the buffer, in bytes."""
        return twin * self._block.doubles * REAL

    def _column(self, twin: int, side: int, received: bool) -> int:
        """Where packed columns lie that go to, or come from, the WEST or EAST."""
        each = to_lines(self._block.column_doubles * REAL)
        return self._field(2) + (4 * twin + 2 * received + side) * each

    @property
    def room(self) -> int:
        return self._column(2, WEST, False)

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        return [step for twin in (0, 1) for step in self._steps(rank, twin)]

    def _steps(self, rank: int, twin: int) -> list[Step]:
        """One time step, from field `twin` to the other one: columns first, then rows with their halos."""
        plane, overlap = self.divided, self["overlap"] == "yes"
        work = {part: (self._step(rank, twin, part),) for part in (ALL, INNER, EDGES, ALL_WAIT)}
        last = Step(after=work[EDGES if overlap else ALL], meanwhile=work[INNER] if overlap else ())
        if plane.columns == 1:
            sends, receives = self._rows(rank, twin)
            return [replace(last, sends=sends, receives=receives, gated=work[ALL if overlap else ALL_WAIT])]
        columns, unpack = self._columns(rank, twin), (self._unpack(twin),)
        last = replace(last, after=(*last.after, self._pack(1 - twin)))
        if plane.rows == 1:
            return [replace(last, sends=columns[0], receives=columns[1], after=(*unpack, *last.after))]
        sends, receives = self._rows(rank, twin)
        return [Step(*columns, after=unpack), replace(last, sends=sends, receives=receives)]

    def _rows(self, rank: int, twin: int) -> tuple[tuple[Transfer, ...], tuple[Transfer, ...]]:
        """What crosses the sides in y."""
        around, block, field = self.divided.neighbours(rank), self._block, self._field(twin)
        sends, receives = [], []
        for side in (SOUTH, NORTH):
            if side in around:
                for layer in block.layers(up=side == NORTH):
                    own, halo = field + layer.own * REAL, field + layer.halo * REAL
                    sends.append(Transfer(around[side], layer.doubles * REAL, own, halo))
            # In the order of their senders, since two neighbours may be one rank.
            if OPPOSITE[side] in around:
                for layer in block.layers(up=side == NORTH):
                    own, halo = field + layer.own * REAL, field + layer.halo * REAL
                    receives.append(Transfer(around[OPPOSITE[side]], layer.doubles * REAL, halo, own))
        return tuple(sends), tuple(receives)

    def _columns(self, rank: int, twin: int) -> tuple[tuple[Transfer, ...], tuple[Transfer, ...]]:
        """What crosses the sides in x, packed."""
        around = self.divided.neighbours(rank)
        bytes_ = self._block.column_doubles * REAL

        def at(side: int, received: bool) -> int:
            return self._column(twin, side, received)

        sends = [Transfer(around[s], bytes_, at(s, False), at(OPPOSITE[s], True)) for s in (WEST, EAST)]
        receives = [Transfer(around[s], bytes_, at(s, True), at(OPPOSITE[s], False)) for s in (EAST, WEST)]
        return tuple(sends), tuple(receives)

    def _pack(self, twin: int) -> Work:
        to = [Place(self._column(twin, side, False)) for side in (WEST, EAST)]
        field = Place(self._field(twin))
        return Work("ws_lbm_pack", (field, *self._block.geometry, *to), *SET_UP)

    def _unpack(self, twin: int) -> Work:
        origin = [Place(self._column(twin, side, True)) for side in (WEST, EAST)]
        field = Place(self._field(twin))
        return Work("ws_lbm_unpack", (field, *self._block.geometry, *origin), *SET_UP)

    def _step(self, rank: int, twin: int, part: int) -> Work:
        plane, block = self.divided, self._block
        around, row = plane.neighbours(rank), rank // plane.columns
        sides = DOWN * twin | COLUMNS * (plane.columns > 1)
        sides |= ROWS_BELOW * (SOUTH in around) | ROWS_ABOVE * (NORTH in around)
        if self.walled:
            sides |= WALL_BELOW * (row == 0) | WALL_ABOVE * (row == plane.rows - 1)
        fields = [Place(self._field(number)) for number in (twin, 1 - twin)]
        arguments: tuple[int | float | Place, ...]
        arguments = (0, part, *fields, *block.geometry, sides, *self._fluid.arguments)
        return Work("ws_lbm_step", arguments, block.tiles, THREADS)

    def start(self, rank: int, seed: int) -> list[Work]:
        block, initial = self._block, self._start(seed).initial
        fill = Work(
            "ws_lbm_init",
            (Place(0), *block.geometry, *self.divided.origin(rank), *initial),
            *SET_UP,
        )
        return [fill, self._pack(0)] if block.columns else [fill]

    def _around(self, rank: int) -> tuple[LbmBlock, int, int]:
        """The reference's block, and where it begins in the grid: what can reach this rank's sites."""
        plane, layers = self.divided, HALO * PERIOD
        x, y = plane.origin(rank)
        width = plane.nx + 2 * layers
        if not self.walled:
            return LbmBlock(width, plane.ny + 2 * layers), x - layers, y - layers
        south, north = max(y - layers, 0), min(y + plane.ny + layers, plane.height)
        return LbmBlock(width, north - south), x - layers, south

    def scratch_room(self, rank: int) -> int:
        return max(2 * self._around(rank)[0].doubles * REAL, self.copied(rank).bytes)

    def reference(self, rank: int, seed: int) -> list[Work]:
        plane = self.divided
        block, west, south = self._around(rank)
        begin = west % plane.width, south % plane.height
        fields = [Scratch(twin * block.doubles * REAL) for twin in (0, 1)]
        # Beyond its sides lies its other side: what is wrong there does not come as far as this rank's block.
        sides = 0
        if self.walled:
            sides = WALL_BELOW * (south == 0) | WALL_ABOVE * (south + block.ny == plane.height)
        work = [
            Work(
                "ws_lbm_init",
                (fields[0], *block.geometry, *begin, *self._start(seed).initial),
                *SET_UP,
            )
        ]
        for number in range(PERIOD):
            two = fields if number % 2 == 0 else fields[::-1]
            arguments: tuple[int | float | Place, ...]
            arguments = (0, ALL, *two, *block.geometry, sides, *self._fluid.arguments)
            work.append(Work("ws_lbm_step", arguments, block.tiles, THREADS))
        return work

    def conserved(self, rank: int) -> Conservation:
        """Walls and gravity take momentum across, and gravity adds energy; all else stays."""
        lattice = [VELOCITIES[number] for number in sorted(range(len(PLACES)), key=PLACES.__getitem__)]
        quantities = [
            ConservedSum("mass", (1.0,) * len(lattice)),
            ConservedSum("momentum in x", tuple(float(x) for x, _ in lattice)),
        ]
        if not self.walled:
            quantities += [
                ConservedSum("momentum in y", tuple(float(y) for _, y in lattice)),
                ConservedSum("energy", tuple((x * x + y * y) / 2 for x, y in lattice)),
            ]
        block, rounding = self._block, STEP_ROUNDINGS * PERIOD * ROUNDING
        place = Place(block.first * REAL)
        return Conservation(
            tuple(quantities), place, REAL, block.nx, block.ny, block.pitch, rounding, block.plane
        )

    def comparisons(self, rank: int) -> list[FieldComparison]:
        own, (other, west, south) = self._block, self._around(rank)
        x, y = self.divided.origin(rank)
        within = other.first + (y - south) * other.pitch + x - west
        return [
            FieldComparison(
                Place((place * own.plane + own.first) * REAL),
                own.pitch * REAL,
                Scratch((place * other.plane + within) * REAL),
                other.pitch * REAL,
                own.nx * REAL,
                own.ny,
            )
            for place in PLACES
        ]

    def place(self, rank: int, comparison: int, row: int, byte: int) -> str:
        plane = self.divided
        x, y = plane.origin(rank)
        return f"population {comparison} at ({x + byte // REAL}, {y + row}) of {plane.width} x {plane.height}"

    def values(self, rank: int) -> Values:
        plane, block = self.divided, self._block
        moments = Work("ws_lbm_moments", (Place(0), *block.geometry, Scratch(0)), *SET_UP)
        row = plane.nx * REAL
        return Values(Scratch(0), REAL, row, planes=4, plane=plane.ny * row, work=(moments,))

    @property
    def drawn(self) -> str:
        drawn = {"shear-wave": "momentum in x", "sound-wave": "density"}
        return drawn.get(str(self["case"]), "temperature")

    def cells(self, rows: Sequence[bytes], edges: Sequence[int]) -> bytes:
        moments = _array(rows, edges[-1])
        number = {"density": 0, "momentum in x": 1}.get(self.drawn)
        return means(temperature(moments) if number is None else moments[number], edges)

    def sampling(self, rank: int) -> Sampling | None:
        plane, start, fluid = self.divided, self._start(0), self._fluid
        if isinstance(start, Layers):
            return None
        iterations = -(-start.interval(fluid) // PERIOD)
        x, y = plane.origin(rank)

        def part(first: int, rows: Sequence[bytes]) -> complex:
            return start.strength(_array(rows, plane.nx), x, y + first)

        def constant(samples: Sequence[complex]) -> Constant:
            measured = start.measured(samples, iterations * PERIOD)
            return Constant(*CONSTANTS[start.case], measured, start.theory(fluid))

        return Sampling(iterations, SAMPLES[start.case], part, constant)

    def copied(self, rank: int) -> Transfer:
        return Transfer(rank, self._block.doubles * REAL, 0, 0)


def _array(rows: Sequence[bytes], nx: int) -> Any:
    """Moments as an array [4, rows, nx]."""
    import numpy as np

    return np.stack([np.frombuffer(row).reshape(-1, nx) for row in rows])


PATTERN = Lbm()
