"""The lattice Boltzmann kernels against theory: viscosity, speed of sound, diffusivity of heat."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.lbm_blocks import Cut, Device

from wirespeed.programs.lbm_math import Fluid, Wave

pytestmark = pytest.mark.slow(after=1)

# The lattice's own error falls with the square of a wave's length; thicker fluids need longer waves.
GRIDS = [
    pytest.param(64, 4, (1, 0), id="along-x"),
    pytest.param(4, 96, (0, 1), id="along-y"),
    pytest.param(72, 72, (1, 1), id="diagonal"),
    pytest.param(128, 64, (1, -1), id="oblique"),
]
TAUS = [0.6, 0.8, 1.0, 1.4]


@pytest.fixture
def host() -> Iterator[Device]:
    opened = Device()
    yield opened
    opened.close()


def measured(device: Device, wave: Wave, fluid: Fluid, samples: int) -> float:
    grid, interval, strengths = Cut(device, wave), wave.interval(fluid), []
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
