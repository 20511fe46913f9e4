"""The lattice Boltzmann program's numbers: lattice, layout of a block, cases, theory, measured constants.

Lengths are in sites, times in steps. The kernels are in lbm.h and lbm_fields.h, which define the order of
populations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Field = NDArray[Any]

HALO = 3
SOUND_SQUARE = 1.1969797703930744**-2
"""c_s^2: the temperature of the fluid at rest, and its pressure over its density."""
HEAT_RATIO = 2.0
"""Ratio of the specific heats, in two dimensions."""
BYTES_PER_SITE = 37 * 8 * 2
"""Bytes of a step: each population is read and written once."""
OPERATIONS_PER_SITE = 575
"""Floating-point operations of one step: 96 additions and subtractions, 98 multiplications, 190 fused
multiply-adds, which count twice, and 1 division, as a compiler leaves them."""

_PAIRS = (
    *((0, 1), (0, 2), (0, 3)),
    *((1, 0), (1, 1), (1, -1), (1, 2), (1, -2), (1, 3), (1, -3)),
    *((2, 0), (2, 1), (2, -1), (2, 2), (2, -2)),
    *((3, 0), (3, 1), (3, -1)),
)
VELOCITIES = ((0, 0), *(each for x, y in _PAIRS for each in ((x, y), (-x, -y))))
"""Velocity of each population, in sites a step."""
_BY_RISE = sorted(range(len(VELOCITIES)), key=lambda number: (-VELOCITIES[number][1], number))
PLACES = tuple(_BY_RISE.index(number) for number in range(len(VELOCITIES)))
"""Place of each population in a row of a field: the fastest upwards first."""
_WEIGHTS = {
    0: 0.233150669132352502,
    1: 0.107306091542219002,
    2: 0.0576678598887948820,
    4: 0.0142082161584507503,
    5: 0.00535304900051377523,
    8: 0.00101193759267357548,
    9: 0.000245301027757717346,
    10: 0.000283414252994198217,
}
WEIGHTS = tuple(_WEIGHTS[x * x + y * y] for x, y in VELOCITIES)

THREADS = 128
"""Most threads of a block of ws_lbm_step."""
TILE = 128
"""Sites of a row that such a block does at a time."""

# What lies beyond a block's sides, as lbm.h numbers it; nothing: the block itself, periodically.
COLUMNS, ROWS_BELOW, ROWS_ABOVE, WALL_BELOW, WALL_ABOVE = 1, 2, 4, 8, 16
DOWN = 32
"""A bit beside those: from the top down."""


def crossing(x: int, y: int) -> tuple[tuple[int, int], ...]:
    """The populations that leave a block towards (x, y), a unit vector, and from how many layers.

    Towards left and right they are in the order of ws_lbm_pack.
    """
    depths = ((number, vx * x + vy * y) for number, (vx, vy) in enumerate(VELOCITIES))
    return tuple((number, depth) for number, depth in depths if depth > 0)


@dataclass(frozen=True)
class Layer:
    """Doubles of one row that a block sends to its neighbour below or above, in one piece."""

    populations: int
    """Number of populations that cross the side from there."""
    own: int
    """Offset in the field of what is sent."""
    halo: int
    """Offset of where the neighbour puts it, in a field of the same layout."""
    doubles: int


@dataclass(frozen=True)
class LbmBlock:
    """A rank's part of the grid, and how its field lies in memory: [row][place of a population][x].

    Site (0, 0) begins a line of memory of 128 bytes.
    """

    nx: int
    ny: int
    columns: bool = False
    """The decomposition cuts x, so that rows have halo columns."""

    @property
    def plane(self) -> int:
        """Doubles of a population in a row."""
        return -(-(self._left + self.nx + (HALO if self.columns else 0)) // 16) * 16

    @property
    def pitch(self) -> int:
        """Doubles from a row to the next one."""
        return len(VELOCITIES) * self.plane

    @property
    def first(self) -> int:
        """Offset of site (0, 0) of the population in the first place."""
        return HALO * self.pitch + self._left

    @property
    def doubles(self) -> int:
        """Size of a field; a rank has two."""
        return (self.ny + 2 * HALO) * self.pitch

    @property
    def column_doubles(self) -> int:
        """Size of what leaves the block to one side, packed."""
        return sum(depth for _, depth in crossing(1, 0)) * self.ny

    @property
    def tiles(self) -> int:
        """Blocks of threads that ws_lbm_step keeps busy; any other number does, too."""
        return self.ny * -(-self.nx // TILE)

    @property
    def geometry(self) -> tuple[int, ...]:
        """The kernels' arguments nx, ny, pitch, plane, first."""
        return self.nx, self.ny, self.pitch, self.plane, self.first

    @property
    def _left(self) -> int:
        return 16 if self.columns else 0

    def layers(self, up: bool) -> Iterator[Layer]:
        """Populations that leave the block upwards, or downwards; with halo columns, which carry the
        corners.
        """
        margin = HALO if self.columns else 0
        for layer in range(HALO):
            count = sum(rise > layer for _, rise in VELOCITIES)
            place = 0 if up else len(VELOCITIES) - count
            base = place * self.plane + self.first - margin
            own, halo = (self.ny - 1 - layer, -1 - layer) if up else (layer, self.ny + layer)
            doubles = (count - 1) * self.plane + self.nx + 2 * margin
            yield Layer(count, base + own * self.pitch, base + halo * self.pitch, doubles)


@dataclass(frozen=True)
class Fluid:
    """Relaxation time in steps, and acceleration by a body force."""

    tau: float
    gravity: tuple[float, float] = (0.0, 0.0)

    @property
    def arguments(self) -> tuple[float, ...]:
        """ws_lbm_step's arguments omega, kick_x, kick_y, warmth."""
        x, y = self.gravity
        warmth = self.tau * (1 - self.tau) * (x * x + y * y) / (2 * SOUND_SQUARE)
        return 1 / self.tau, self.tau * x, self.tau * y, warmth

    @property
    def viscosity(self) -> float:
        """Kinematic, at the temperature at rest, in sites^2 a step."""
        return SOUND_SQUARE * (self.tau - 0.5)

    @property
    def diffusivity(self) -> float:
        """Thermal diffusivity: the collision has one relaxation time, so the Prandtl number is 1."""
        return self.viscosity


SPEED_OF_SOUND = math.sqrt(HEAT_RATIO * SOUND_SQUARE)


@dataclass(frozen=True)
class Wave:
    """A wave of small amplitude on a fluid at rest: how often it repeats in x and y, and what it is made of.

    case: "shear-wave" (velocity across its direction), "sound-wave" (a standing one) or "heat" (of
    temperature, at constant pressure).
    """

    case: str
    width: int
    height: int
    waves: tuple[int, int]
    amplitude: float = 1e-3

    @property
    def number(self) -> float:
        """The wave number: 2 pi over the wave's length in sites."""
        return math.hypot(*self._vector)

    @property
    def _vector(self) -> tuple[float, float]:
        x, y = self.waves
        return 2 * math.pi * x / self.width, 2 * math.pi * y / self.height

    @property
    def initial(self) -> tuple[float, ...]:
        """ws_lbm_init's arguments from width on."""
        x, y = self._vector
        size, flow = self.amplitude, self.amplitude / self.number
        density, across_x, across_y, warmth = {
            "shear-wave": (0.0, -y * flow, x * flow, 0.0),
            "sound-wave": (size, 0.0, 0.0, (HEAT_RATIO - 1) * size),
            "heat": (-size, 0.0, 0.0, size),
        }[self.case]
        repeats = (self.waves[0] % self.width, self.waves[1] % self.height)
        return (
            self.width,
            self.height,
            *repeats,
            *(density, across_x, across_y, warmth),
            *(1.0, 1.0, 0.0, 0.0),
        )

    def strength(self, moments: Field, x0: int = 0, y0: int = 0) -> complex:
        """The wave in a block's moments [4, ny, nx] of ws_lbm_moments, whose site (0, 0) is (x0, y0).

        The sum over all blocks is the wave's complex amplitude. What is projected on the wave is the
        momentum across it, the energy (which is the pressure), or for heat the entropy, in which there is
        no sound.
        """
        import numpy as np

        density, along_x, along_y, energy = moments
        x, y = self._vector
        field = {
            "shear-wave": lambda: (along_y * x - along_x * y) / self.number,
            "sound-wave": lambda: energy,
            "heat": lambda: energy / SOUND_SQUARE - HEAT_RATIO * density,
        }[self.case]()
        ny, nx = density.shape
        columns = np.exp(-1j * x * (x0 + np.arange(nx)))
        rows = np.exp(-1j * y * (y0 + np.arange(ny)))
        return complex(rows @ field @ columns) * 2 / (self.width * self.height)

    def theory(self, fluid: Fluid) -> float:
        """The constant that the case measures: viscosity, speed of sound, or diffusivity of heat."""
        return {
            "shear-wave": fluid.viscosity,
            "sound-wave": SPEED_OF_SOUND,
            "heat": fluid.diffusivity,
        }[self.case]

    def interval(self, fluid: Fluid) -> int:
        """Steps to the first sample, and between samples: a decay by a tenth, or a sixth of an oscillation.

        Heat takes no less than a whole oscillation of the sound that its initial state holds, too.
        """
        oscillation = 2 * math.pi / (SPEED_OF_SOUND * self.number)
        if self.case == "sound-wave":
            return max(1, round(oscillation / 6))
        least = oscillation if self.case == "heat" else 1
        return round(max(least, 0.1 / (self.theory(fluid) * self.number**2)))

    def measured(self, strengths: Sequence[complex], interval: float) -> float:
        """The same from amplitudes that lie `interval` steps apart.

        Raises ValueError for fewer than two, or for sound fewer than four.
        """
        if self.case == "sound-wave":
            return frequency(strengths, interval) / self.number
        return decay(strengths, interval) / self.number**2


@dataclass(frozen=True)
class Layers:
    """A heavy cold fluid above a light hot one, between two walls (Rayleigh and Taylor)."""

    width: int
    height: int
    hot: float = 1.2
    cold: float = 0.8
    rough: float = 2.0
    """Sites that the interface lies from the middle, at most."""

    @property
    def gravity(self) -> tuple[float, float]:
        """Pressures at the walls differ by a seventh, whatever the height."""
        return 0.0, -0.1 / self.height

    @property
    def initial(self) -> tuple[float, ...]:
        """ws_lbm_init's arguments from width on."""
        still = (0, 0, 0.0, 0.0, 0.0, 0.0)
        return (self.width, self.height, *still, self.hot, self.cold, -self.gravity[1], self.rough)


def decay(strengths: Sequence[complex], interval: float) -> float:
    """The rate of an exponential decay: the least-squares slope of the logarithms."""
    if len(strengths) < 2:
        raise ValueError("a decay is measured from two amplitudes or more")
    middle = (len(strengths) - 1) / 2
    offsets = [number - middle for number in range(len(strengths))]
    logs = (math.log(abs(each)) for each in strengths)
    slope = sum(offset * log for offset, log in zip(offsets, logs, strict=True))
    return -slope / sum(offset**2 for offset in offsets) / interval


def frequency(strengths: Sequence[complex], interval: float) -> float:
    """The angular frequency of a damped standing wave, of which a sample needs less than half a period.

    Each sample is p times the one before less q times the one before that (Prony), p and q by least squares.
    """
    if len(strengths) < 4:
        raise ValueError("a frequency is measured from four amplitudes or more")
    # A standing wave has one phase in space.
    turn = max(strengths, key=abs).conjugate()
    heights = [(each * turn).real for each in strengths]
    old, last, new = heights[:-2], heights[1:-1], heights[2:]

    def dot(a: Sequence[float], b: Sequence[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    determinant = dot(last, last) * dot(old, old) - dot(last, old) ** 2
    p = (dot(new, last) * dot(old, old) - dot(new, old) * dot(last, old)) / determinant
    q = (dot(new, last) * dot(last, old) - dot(new, old) * dot(last, last)) / determinant
    return math.acos(max(-1.0, min(1.0, p / (2 * math.sqrt(q))))) / interval


def temperature(moments: Field) -> Field:
    """From the moments [4, ny, nx] of ws_lbm_moments; 1 at rest."""
    density, along_x, along_y, energy = moments
    flow = (along_x / density) ** 2 + (along_y / density) ** 2
    found: Field = (energy / density - flow / 2) / SOUND_SQUARE
    return found
