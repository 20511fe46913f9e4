"""The lattice Boltzmann kernels: what numpy computes, and what theory says of the physics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support import lbm_reference as reference
from support.lbm_grid import Device, Grid

from wirespeed.programs import lbm_math
from wirespeed.programs.lbm_math import SOUND_SQUARE, VELOCITIES, Fluid, Layers, Wave

pytestmark = pytest.mark.slow(after=1)

TO_REFERENCE = [VELOCITIES.index(each) for each in reference.VELOCITIES]
STARTS = [
    pytest.param(Wave("shear-wave", 24, 10, (1, -1), 0.05), id="shear-wave"),
    pytest.param(Wave("sound-wave", 24, 10, (2, 1), 0.05), id="sound-wave"),
    pytest.param(Wave("heat", 24, 10, (0, 1), 0.05), id="heat"),
    pytest.param(Layers(24, 40), id="rayleigh-taylor"),
]


@pytest.fixture(params=["host", "emulated"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    opened = Device(request.param)
    yield opened
    opened.close()


@pytest.fixture
def host() -> Iterator[Device]:
    opened = Device()
    yield opened
    opened.close()


@pytest.mark.parametrize("start", STARTS)
def test_steps_are_numpys(device: Device, start: Wave | Layers) -> None:
    """Protects the algorithm: another text of it, put together otherwise, gives the same field."""
    grid = Grid(device, start)
    fluid = Fluid(0.7, start.gravity) if isinstance(start, Layers) else Fluid(0.8, (1e-3, -2e-3))
    field = grid.populations()[TO_REFERENCE]
    expected = reference.Fluid(fluid.tau, fluid.gravity, isinstance(start, Layers))
    for _ in range(5):
        field = expected.step(field)
    grid.steps(5, fluid)
    assert grid.populations()[TO_REFERENCE] == pytest.approx(field, rel=1e-12, abs=1e-15)
    density, velocity, temperature = reference.moments(field)
    found = grid.moments()
    assert found[0] == pytest.approx(density, rel=1e-13)
    assert found[1:3] == pytest.approx(density * velocity, abs=1e-15)
    assert lbm_math.temperature(found) == pytest.approx(temperature / SOUND_SQUARE, rel=1e-13)


@pytest.mark.parametrize("case", ["shear-wave", "sound-wave", "heat"])
def test_a_wave_begins_as_its_equilibrium(host: Device, case: str) -> None:
    """Protects the initial state: density, velocity and temperature of a sine, in equilibrium."""
    wave = Wave(case, 24, 10, (2, -1), 0.05)
    field = Grid(host, wave).populations()[TO_REFERENCE]
    density, velocity, temperature = reference.moments(field)
    _, _, across, down, dense, along_x, along_y, warm, *_ = wave.initial
    y, x = np.mgrid[:10, :24]
    sine = np.sin(2 * np.pi * (across * x / 24 + down * y / 10))
    assert density == pytest.approx(1 + dense * sine, rel=1e-14)
    assert velocity == pytest.approx(np.stack([along_x * sine, along_y * sine]), abs=1e-15)
    assert temperature == pytest.approx(SOUND_SQUARE * (1 + warm * sine), rel=1e-14)
    assert field == pytest.approx(reference.equilibrium(density, velocity, temperature), rel=1e-12)


def test_a_gated_step_tells_when_its_edges_are_done(device: Device) -> None:
    """Protects overlap inside kernels: the same field, and the word that lets the edges be sent."""
    start, fluid = Wave("sound-wave", 514, 7, (2, 1), 0.01), Fluid(0.8)
    whole, gated = Grid(device, start), Grid(device, start, halo=True)
    whole.steps(1, fluid)
    words = device.put(np.array([1, 0, 0], dtype=np.uint32).view(np.uint8))
    gate = np.array([words, words + 4, words + 8, 0, 0], dtype=np.uint64)
    at = device.put(gate.view(np.float64))
    gated.steps(1, fluid, at)
    after = device.get(at, 5).view(np.uint32)
    assert after[6:].tolist() == [0, 0, 0, 0], "the gate counts the next step's edges from zero"
    assert device.get(words, 1).view(np.uint32).tolist() == [1, 1], "one step arrived, one is ready"
    assert (gated.populations() == whole.populations()).all()


def sums(grid: Grid) -> np.ndarray:
    return np.asarray(grid.moments().sum(axis=(1, 2), dtype=np.longdouble))


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("tau", [0.55, 1.0, 1.9])
def test_mass_momentum_and_energy_stay(host: Device, tau: float, walls: bool) -> None:
    """Protects conservation, to 1e-12 a step; walls take momentum across them, and nothing else."""
    start = Layers(40, 24) if walls else Wave("sound-wave", 40, 24, (1, 2), 0.1)
    grid = Grid(host, start)
    before, steps = sums(grid), 20
    grid.steps(steps, Fluid(tau))
    kept = [0, 1, 3] if walls else [0, 1, 2, 3]
    assert np.abs(sums(grid) - before)[kept].max() / before[0] < 1e-12 * steps


def test_gravity_gives_its_momentum_and_its_work(host: Device) -> None:
    """Protects the energy of what falls: a step adds g to the velocity and g . (u + g / 2) to the energy."""
    grid, g = Grid(host, Wave("heat", 40, 24, (1, 1), 0.1)), (2e-3, -5e-3)
    for _ in range(10):
        mass, along_x, along_y, energy = sums(grid)
        grid.steps(1, Fluid(0.8, g))
        work = g[0] * along_x + g[1] * along_y + mass * (g[0] ** 2 + g[1] ** 2) / 2
        expected = np.array([mass, along_x + mass * g[0], along_y + mass * g[1], energy + work])
        assert np.abs(sums(grid) - expected).max() / mass < 1e-12


def test_layers_stand_until_they_are_rough(host: Device) -> None:
    """Protects the mushrooms: a flat interface stays under its weight, a rough one overturns faster."""
    flat, rough = (Layers(48, 48, rough=rough) for rough in (0.0, 2.0))
    grids = [Grid(host, start) for start in (flat, rough)]
    for grid, start in zip(grids, (flat, rough), strict=True):
        grid.steps(600, Fluid(0.55, start.gravity))
    spread = [np.ptp(grid.moments()[2], axis=1).max() for grid in grids]
    assert spread[0] < 1e-12
    assert spread[1] > 0.02


# The lattice's own error falls with the square of a wave's length; thicker fluids need longer waves.
GRIDS = [
    pytest.param(64, 4, (1, 0), id="along-x"),
    pytest.param(4, 96, (0, 1), id="along-y"),
    pytest.param(72, 72, (1, 1), id="diagonal"),
    pytest.param(128, 64, (1, -1), id="oblique"),
]
TAUS = [0.6, 0.8, 1.0, 1.4]


def measured(device: Device, wave: Wave, fluid: Fluid, samples: int) -> float:
    grid, interval, strengths = Grid(device, wave), wave.interval(fluid), []
    for _ in range(samples):
        grid.steps(interval, fluid)
        strengths.append(wave.strength(grid.moments()))
    return wave.measured(strengths, interval)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize(("width", "height", "waves"), GRIDS)
@pytest.mark.parametrize(
    ("case", "samples", "within"), [("shear-wave", 2, 0.01), ("sound-wave", 8, 0.01), ("heat", 2, 0.02)]
)
def test_constants_are_theorys(
    host: Device,
    case: str,
    samples: int,
    within: float,
    width: int,
    height: int,
    waves: tuple[int, int],
    tau: float,
) -> None:
    """Protects the physics: from the case as it is run, in every direction."""
    wave, fluid = Wave(case, width, height, waves), Fluid(tau)
    assert measured(host, wave, fluid, samples) == pytest.approx(wave.theory(fluid), rel=within)


def test_a_thick_fluids_viscosity(host: Device) -> None:
    """Protects large relaxation times, where equilibria of lower order fail first."""
    wave, fluid = Wave("shear-wave", 160, 4, (1, 0)), Fluid(1.9)
    assert measured(host, wave, fluid, 2) == pytest.approx(fluid.viscosity, rel=0.01)


def test_viscosity_does_not_depend_on_the_flow(host: Device) -> None:
    """Protects the terms of third order in velocity, which a small amplitude does not show."""
    wave, fluid = Wave("shear-wave", 64, 4, (1, 0), amplitude=0.1), Fluid(0.8)
    assert measured(host, wave, fluid, 2) == pytest.approx(fluid.viscosity, rel=0.01)
