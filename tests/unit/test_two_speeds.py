"""Two speeds are found where there are two, and nowhere else: not in noise that is skewed, late or slow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wirespeed.statistics.two_speeds import SHORT, changed, two_speeds

RUNS = 400
Draw = Callable[[np.random.Generator, int], "np.ndarray"]

ONE_SPEED: dict[str, Draw] = {
    "normal, 20 %": lambda rng, n: 1 + 0.2 * rng.standard_normal(n),
    "skewed": lambda rng, n: np.exp(0.4 * rng.standard_normal(n)),
    "exponential delays": lambda rng, n: 1 + rng.exponential(0.3, n),
    "t, 3 degrees of freedom": lambda rng, n: np.exp(0.1 * rng.standard_t(3, n)),
    "one in ten late": lambda rng, n: (
        1 + 0.02 * rng.standard_normal(n) + (rng.random(n) < 0.1) * rng.pareto(1, n)
    ),
    "even": lambda rng, n: 1 + rng.random(n),
    "slow": lambda rng, n: np.exp(0.1 * np.convolve(rng.standard_normal(n + 19), np.ones(20), "valid") / 4),
    "a drift": lambda rng, n: np.linspace(1, 1.5, n) * (1 + 0.02 * rng.standard_normal(n)),
    "one step": lambda rng, n: 1 + 0.5 * (np.arange(n) > n // 2) + 0.01 * rng.standard_normal(n),
}


@pytest.mark.parametrize("batches", [14, 60, 200])
@pytest.mark.parametrize("noise", ONE_SPEED)
def test_noise_is_not_two_speeds(noise: str, batches: int) -> None:
    rng = np.random.default_rng(8)
    found = sum(
        two_speeds(np.maximum(ONE_SPEED[noise](rng, batches), 0.05).tolist()) is not None for _ in range(RUNS)
    )
    assert found <= 0.01 * RUNS, f"found in {found} of {RUNS}"


@pytest.mark.parametrize(("slow", "dwell"), [(1.5, 3), (1.25, 5), (3.0, 2)])
def test_batches_that_switch_have_two(slow: float, dwell: int) -> None:
    rng, right = np.random.default_rng(9), 0
    for _ in range(RUNS):
        state = np.cumsum(rng.random(80) < 1 / dwell) % 2
        medians = np.where(state, slow, 1.0) * (1 + 0.01 * rng.standard_normal(80))
        found = two_speeds(medians.tolist())
        right += found is not None and np.allclose(found, (1.0, slow), rtol=0.02)
    assert right >= 0.95 * RUNS


def test_a_batch_in_which_the_speed_changed_hides_none() -> None:
    """Protects NCCL's short messages on an H200, 11.4 or 13.3 us by turns, from being a range of 17 %."""
    both = ([11.4] * 9 + [12.3] + [13.3] * 6 + [12.6]) * 3
    found = two_speeds([value * (1 + 0.01 * (-1) ** place) for place, value in enumerate(both)])
    assert found and np.allclose(found, (11.4, 13.3), rtol=0.02)
    assert two_speeds(([11.4] * 5 + [12.3] * 3 + [13.3] * 5) * 3) is None, "too many between them"


def test_a_rare_speed_is_none() -> None:
    """Protects from a second speed that is a disturbance now and then."""
    assert two_speeds(([1.0] * 12 + [2.0]) * 5) is None
    assert two_speeds(([1.0] * 12 + [2.0] * 4) * 5) == (1.0, 2.0)


def test_each_speed_was_there_three_times() -> None:
    """Protects from one disturbance that lasted: it is no second speed."""
    assert two_speeds([1.0] * 20 + [2.0] * 20 + [1.0] * 20) is None
    assert two_speeds(([1.0] * 5 + [2.0] * 5) * 3) == (1.0, 2.0)


def test_one_change_is_noise_that_is_slower_than_the_measurement() -> None:
    """Protects a narrow interval beside it from being taken as that of both speeds."""
    once = [1.0] * 20 + [1.1] * 10
    assert changed(once) == (1.0, 1.1) and two_speeds(once) is None
    assert changed([1.0] * 10 + [1.1] * 10 + [1.0] * 10) == (1.0, 1.1)
    assert changed(([1.0] * 10 + [1.1] * 10) * 2) is None, "three changes"
    assert changed([1.0] * 20 + [1.04] * 10) is None, "by too little"
    assert changed([1.0] * 28 + [1.1] * 2) is None, "for too short a time"
    assert changed([1.0] * SHORT + [1.1] * SHORT) is None


@pytest.mark.parametrize("noise", [name for name in ONE_SPEED if name not in ("one step", "slow")])
def test_noise_is_no_change(noise: str) -> None:
    rng = np.random.default_rng(1)
    for batches in (24, 60):
        found = (changed(np.maximum(ONE_SPEED[noise](rng, batches), 0.05).tolist()) for _ in range(RUNS))
        assert sum(one is not None for one in found) <= RUNS // 200
