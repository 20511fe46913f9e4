"""The lattice Boltzmann program's numbers: lattice, layout, and constants taken from amplitudes."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from wirespeed.programs import lbm_math
from wirespeed.programs.lbm_math import (
    PLACES,
    SOUND_SQUARE,
    VELOCITIES,
    WEIGHTS,
    Fluid,
    Layers,
    LbmBlock,
    Wave,
    crossing,
)

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
CASES = ("shear-wave", "sound-wave", "heat")


@pytest.mark.parametrize("order", range(9))
def test_weights_have_the_gaussians_moments(order: int) -> None:
    """Protects the equilibrium: its fourth order needs the lattice's moments to the eighth."""

    def gaussian(power: int) -> float:
        odd = range(1, power, 2)
        return 0.0 if power % 2 else math.prod(odd) * SOUND_SQUARE ** (power / 2)

    for x in range(order + 1):
        each = zip(WEIGHTS, VELOCITIES, strict=True)
        lattice = math.fsum(w * vx**x * vy ** (order - x) for w, (vx, vy) in each)
        assert lattice == pytest.approx(gaussian(x) * gaussian(order - x), rel=1e-13, abs=1e-13)


def test_populations_come_in_pairs_of_opposite_velocities() -> None:
    """Protects the kernels' order of populations, which they use for walls and for what crosses a side."""
    assert len(set(VELOCITIES)) == len(WEIGHTS) == 37
    for number in range(1, 37, 2):
        assert VELOCITIES[number] == tuple(-each for each in VELOCITIES[number + 1])


@pytest.mark.parametrize("side", SIDES)
def test_26_layers_of_populations_cross_a_side(side: tuple[int, int]) -> None:
    """Protects the bytes that a halo is said to have, and the size of its buffers."""
    found = crossing(*side)
    assert sum(depth for _, depth in found) == 26
    assert {number for number, _ in found} == {
        number for number, velocity in enumerate(VELOCITIES) if np.dot(velocity, side) > 0
    }


@pytest.mark.parametrize(("nx", "ny"), [(3, 3), (16, 5), (8192, 512), (4097, 7)])
@pytest.mark.parametrize("columns", [False, True])
def test_blocks_have_room_for_their_halos(nx: int, ny: int, columns: bool) -> None:
    """Protects neighbouring rows and populations from each other, and the alignment of rows."""
    block = LbmBlock(nx, ny, columns)
    halo = 3 if columns else 0
    assert block.first % 16 == block.plane % 16 == 0
    assert block.first % block.pitch >= halo
    assert block.plane >= block.first % block.pitch + nx + halo
    assert block.pitch == 37 * block.plane
    assert block.doubles == (ny + 6) * block.pitch
    assert block.column_doubles == 26 * ny


@pytest.mark.parametrize("up", [False, True])
def test_rows_that_leave_a_block_are_the_halo_of_the_next(up: bool) -> None:
    """Protects the exchange: what crosses from each row, from the edge to the halo on the other side."""
    block = LbmBlock(20, 9, columns=True)
    sign, found = 1 if up else -1, 0
    for number, layer in enumerate(block.layers(up)):
        crossing = {place for place, (_, y) in zip(PLACES, VELOCITIES, strict=True) if sign * y > number}
        first = min(crossing)
        assert crossing == set(range(first, first + layer.populations)), "one piece"
        start = block.first + first * block.plane - 3
        assert layer.own - start == (8 - number if up else number) * block.pitch
        assert layer.halo - start == (-1 - number if up else 9 + number) * block.pitch
        assert layer.doubles == (layer.populations - 1) * block.plane + 26
        found += layer.populations
    assert found == 26


def test_a_force_gives_its_momentum_and_its_work() -> None:
    """Protects gravity's energy: m g . (u + g / 2) a step, whatever the relaxation time."""
    tau, g, u, t = 1.3, (0.02, -0.05), (0.1, 0.03), 0.7
    omega, kick_x, kick_y, warmth = Fluid(tau, g).arguments
    kicked = (u[0] + kick_x, u[1] + kick_y)

    def energy(velocity: tuple[float, float], temperature: float) -> float:
        return (velocity[0] ** 2 + velocity[1] ** 2) / 2 + temperature

    gained = omega * (energy(kicked, t + warmth * SOUND_SQUARE) - energy(u, t))
    assert omega * kick_x == pytest.approx(g[0])
    assert gained == pytest.approx(sum(a * (v + a / 2) for a, v in zip(g, u, strict=True)), rel=1e-12)


def moments(wave: Wave, turned: float = 0.0) -> np.ndarray:
    """The initial state's moments, to first order, the wave shifted by an angle."""
    _, _, across, down, density, along_x, along_y, warmth, *_ = wave.initial
    y, x = np.mgrid[: wave.height, : wave.width]
    sine = np.sin(2 * np.pi * (across * x / wave.width + down * y / wave.height) + turned)
    energy = SOUND_SQUARE * (1 + (density + warmth) * sine)
    return np.stack([1 + density * sine, along_x * sine, along_y * sine, energy])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("waves", [(1, 0), (0, 2), (2, -1)])
def test_a_waves_amplitude_is_found_in_the_moments(case: str, waves: tuple[int, int]) -> None:
    """Protects what constants are measured from, in any direction and phase, and its sum over blocks."""
    wave = Wave(case, 24, 16, waves, 0.01)
    size = {"shear-wave": 0.01, "sound-wave": 0.02 * SOUND_SQUARE, "heat": 0.02}[case]
    field = moments(wave, 0.3)
    whole = wave.strength(field)
    assert abs(whole) == pytest.approx(size, rel=1e-12)
    parts = [wave.strength(field[:, y : y + 8, x : x + 12], x, y) for x in (0, 12) for y in (0, 8)]
    assert sum(parts) == pytest.approx(whole, rel=1e-12)


def test_heat_is_measured_without_sound_and_sound_without_heat() -> None:
    """Protects diffusivity from the sound that an initial state may hold, and the other way round."""
    heat, sound = (Wave(case, 16, 16, (1, 1), 0.01) for case in ("heat", "sound-wave"))
    assert abs(heat.strength(moments(sound))) < 1e-15
    assert abs(sound.strength(moments(heat))) < 1e-15


@pytest.mark.parametrize("case", ["shear-wave", "heat"])
def test_a_decays_constant(case: str) -> None:
    wave = Wave(case, 64, 32, (1, 1))
    decaying = [0.3j * math.exp(-0.4 * wave.number**2 * 7 * n) for n in range(5)]
    assert wave.measured(decaying, 7) == pytest.approx(0.4)
    with pytest.raises(ValueError, match="two amplitudes"):
        wave.measured(decaying[:1], 7)


@pytest.mark.parametrize("phase", [0.0, 1.1, math.pi / 2])
def test_a_standing_waves_speed(phase: float) -> None:
    """Protects it from damping, from where the wave lies, and from the moment of the first sample."""
    wave = Wave("sound-wave", 64, 32, (1, 1))
    damped = [
        cmath.rect(math.exp(-0.01 * n) * math.cos(1.2 * wave.number * 4 * n + phase), 0.7) for n in range(8)
    ]
    assert wave.measured(damped, 4) == pytest.approx(1.2)
    with pytest.raises(ValueError, match="four amplitudes"):
        wave.measured(damped[:3], 4)


def test_theory() -> None:
    """Protects the column beside measured constants: all follow from tau and the lattice."""
    fluid = Fluid(0.8)
    shear, sound, heat = (Wave(case, 64, 64, (1, 0)) for case in CASES)
    assert shear.theory(fluid) == pytest.approx(0.697953322019683 * 0.3)
    assert heat.theory(fluid) == shear.theory(fluid)
    assert sound.theory(fluid) == pytest.approx(math.sqrt(2 * 0.697953322019683))


def test_temperature() -> None:
    density, velocity, warm = 1.2, (0.1, -0.2), 0.9
    energy = density * (0.05 / 2 + warm * SOUND_SQUARE)
    field = np.array([density, density * velocity[0], density * velocity[1], energy]).reshape(4, 1, 1)
    assert lbm_math.temperature(field) == pytest.approx(warm)


@pytest.mark.parametrize("start", [Wave("heat", 20, 12, (-1, 2)), Layers(20, 12)])
def test_initial_states_are_the_kernels_arguments(start: Wave | Layers) -> None:
    """Protects a launch from a whole number where a double is wanted, which would be another number."""
    assert [type(each) for each in start.initial] == [int] * 4 + [float] * 8
    assert all(each >= 0 for each in start.initial[:4])
