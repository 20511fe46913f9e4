"""The lattice Boltzmann kernels: what numpy computes, however the grid is cut and whatever runs them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import lbm_reference as reference
from support.command import captured
from support.lbm_blocks import MIXING, SPLITS, THIN, WIDE, Cut, Device, cuts_of, digest, fluid_of

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
    grid = Cut(device, start)
    fluid = fluid_of(start)
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
    field = Cut(host, wave).populations()[TO_REFERENCE]
    density, velocity, temperature = reference.moments(field)
    _, _, across, down, dense, along_x, along_y, warm, *_ = wave.initial
    y, x = np.mgrid[:10, :24]
    sine = np.sin(2 * np.pi * (across * x / 24 + down * y / 10))
    assert density == pytest.approx(1 + dense * sine, rel=1e-14)
    assert velocity == pytest.approx(np.stack([along_x * sine, along_y * sine]), abs=1e-15)
    assert temperature == pytest.approx(SOUND_SQUARE * (1 + warm * sine), rel=1e-14)
    assert field == pytest.approx(reference.equilibrium(density, velocity, temperature), rel=1e-12)


@pytest.mark.parametrize("start", [WIDE, THIN, MIXING])
def test_no_bit_depends_on_the_cut(host: Device, start: Wave | Layers) -> None:
    """Protects comparisons of rank counts: one field for every cut, and every split of edges and interior."""
    found = {digest(host, start, cut, parts) for cut in cuts_of(start) for parts in SPLITS}
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["blocks=3,threads=64,seed=1", "blocks=5,threads=33,seed=7"])
def test_no_bit_depends_on_the_grid_of_threads(host: Device, threads: str) -> None:
    """Protects GPUs: few blocks or many, threads that do not divide a tile, in any order."""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "WIRESPEED_EMULATED": threads, "PYTHONPATH": str(tests)}
    command = [sys.executable, "-P", "-m", "support.lbm_blocks"]
    done = captured(command, env=environment, ok=True)
    assert done.stdout.split() == [digest(host, start, steps=2) for start in (WIDE, THIN, MIXING)]


@pytest.mark.parametrize("start", [WIDE, MIXING])
def test_a_gated_step_tells_when_its_edges_are_done(device: Device, start: Wave | Layers) -> None:
    """Protects overlap inside kernels: the same field, and the word that lets the edges be sent."""
    whole, gated = (Cut(device, start, 1, 2) for _ in range(2))
    whole.steps(1, fluid_of(start))
    gated.exchange()
    for placed in gated.all:
        words = device.put(np.array([1, 0, 0], dtype=np.uint32).view(np.uint8))
        gate = np.array([words, words + 4, words + 8, 0, 0], dtype=np.uint64)
        at = device.put(gate.view(np.float64))
        placed.step(fluid_of(start), 0, at)
        placed.fields.reverse()
        after = device.get(at, 5).view(np.uint32)
        assert after[6:].tolist() == [0, 0, 0, 0], "the gate counts the next step's edges from zero"
        assert device.get(words, 1).view(np.uint32).tolist() == [1, 1], "one step arrived, one is ready"
    assert (gated.populations() == whole.populations()).all()


def sums(grid: Cut) -> np.ndarray:
    return np.asarray(grid.moments().sum(axis=(1, 2), dtype=np.longdouble))


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("tau", [0.55, 1.0, 1.9])
def test_mass_momentum_and_energy_stay(host: Device, tau: float, walls: bool) -> None:
    """Protects conservation, to 1e-12 a step; walls take momentum across them, and nothing else."""
    start = Layers(40, 24) if walls else Wave("sound-wave", 40, 24, (1, 2), 0.1)
    grid = Cut(host, start)
    before, steps = sums(grid), 20
    grid.steps(steps, Fluid(tau))
    kept = [0, 1, 3] if walls else [0, 1, 2, 3]
    assert np.abs(sums(grid) - before)[kept].max() / before[0] < 1e-12 * steps


def test_gravity_gives_its_momentum_and_its_work(host: Device) -> None:
    """Protects the energy of what falls: a step adds g to the velocity and g . (u + g / 2) to the energy."""
    grid, g = Cut(host, Wave("heat", 40, 24, (1, 1), 0.1)), (2e-3, -5e-3)
    for _ in range(10):
        mass, along_x, along_y, energy = sums(grid)
        grid.steps(1, Fluid(0.8, g))
        work = g[0] * along_x + g[1] * along_y + mass * (g[0] ** 2 + g[1] ** 2) / 2
        expected = np.array([mass, along_x + mass * g[0], along_y + mass * g[1], energy + work])
        assert np.abs(sums(grid) - expected).max() / mass < 1e-12


def test_layers_stand_until_they_are_rough(host: Device) -> None:
    """Protects the mushrooms: a flat interface stays under its weight, a rough one overturns faster."""
    flat, rough = (Layers(48, 48, rough=rough) for rough in (0.0, 2.0))
    grids = [Cut(host, start) for start in (flat, rough)]
    for grid, start in zip(grids, (flat, rough), strict=True):
        grid.steps(600, Fluid(0.55, start.gravity))
    spread = [np.ptp(grid.moments()[2], axis=1).max() for grid in grids]
    assert spread[0] < 1e-12
    assert spread[1] > 0.02
