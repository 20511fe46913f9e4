"""Bounds learnt from launches: they hold together, whatever launches have in common."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wirespeed.statistics.comparison import KNOWN, Launch
from wirespeed.statistics.next_launch import (
    FALSE_ALARMS,
    FEWEST_LAUNCHES,
    _digamma,
    _trigamma,
    moderation,
    slowest_next,
)

pytestmark = pytest.mark.slow


def side(logs: list[float]) -> dict[object, Launch]:
    times = [math.exp(log) for log in logs]
    return {number: Launch(time, time * 0.9999, time * 1.0001) for number, time in enumerate(times)}


def broken(launches: int, common: float, of_path: float, own: float, paths: int, sizes: int) -> float:
    """The share of healthy launches that are slower than any bound: 120 machines, 20 launches of each."""
    dice, found = np.random.default_rng(7), 0.0
    of = [path for path in range(paths) for _ in range(sizes)]
    for _ in range(120):
        logs = common * dice.standard_normal(launches + 20)
        logs = logs + of_path * dice.standard_normal((paths, launches + 20)).repeat(sizes, axis=0)
        logs = logs + own * dice.standard_normal((paths * sizes, launches + 20))
        bounds = slowest_next([side(row[:launches].tolist()) for row in logs], of)
        highest = np.log([bound or math.nan for bound in bounds])
        found += float((logs[:, launches:] > highest[:, np.newaxis]).any(axis=0).mean())
    return found / 120


@pytest.mark.parametrize(
    "effects", [(0.02, 0.0, 0.002), (0.0, 0.02, 0.002), (0.0, 0.0, 0.02), (0.01, 0.01, 0.01)]
)
@pytest.mark.parametrize("paths", [pytest.param(1, marks=pytest.mark.thorough), 5])
def test_a_healthy_launch_breaks_no_bound(paths: int, effects: tuple[float, float, float]) -> None:
    """Protects nodes: one launch in a hundred breaks any of all bounds, whatever it has in common."""
    assert broken(5, *effects, paths, 6) <= 2 * FALSE_ALARMS


def test_delays_of_whole_launches_break_few_bounds() -> None:
    """Protects nodes where launches are late now and then: nine paths, each with a launch's own delay."""
    dice, found = np.random.default_rng(7), 0.0
    for _ in range(60):
        logs = dice.exponential(0.01, (9, 45)).repeat(2, axis=0) + 0.001 * dice.standard_normal((18, 45))
        bounds = slowest_next([side(row[:5].tolist()) for row in logs], [row // 2 for row in range(18)])
        highest = np.log([bound or math.nan for bound in bounds])
        found += float((logs[:, 5:] > highest[:, np.newaxis]).any(axis=0).mean()) / 60
    assert found <= 0.04


def test_a_late_launch_among_few_widens_the_bound() -> None:
    """The same variance, with its tail on the slow side and on the fast one."""
    slow, fast = [0.0, 0.0, 0.001, 0.001, 0.03], [0.03, 0.03, 0.029, 0.029, 0.0]
    (of_slow,), (of_fast,) = slowest_next([side(slow)], "a"), slowest_next([side(fast)], "a")
    assert of_slow and of_fast
    assert math.log(of_slow) - np.mean(slow) > 1.05 * (math.log(of_fast) - np.mean(fast))


def test_too_few_launches_make_no_bound() -> None:
    few, enough = side([0.0, 0.01, 0.02, 0.01]), side([0.0, 0.01, 0.02, 0.01, 0.0])
    assert len(enough) == FEWEST_LAUNCHES
    bounds = slowest_next([few, enough, {}], "aab")
    assert bounds[0] is None and bounds[1] and bounds[2] is None
    assert all(slowest_next([few, enough], "aa", spread=0.01))


def test_no_bound_is_below_what_was_seen() -> None:
    (bound,) = slowest_next([side([0.0, 0.0, 0.0, 0.0, 0.3])], "a")
    assert bound and bound >= math.exp(0.3) * (1 - 1e-12)


def test_a_known_spread() -> None:
    """Normal, one side, 1 %: 2.326348 standard deviations; of one more launch beside one, times sqrt 2."""
    (bound,) = slowest_next([{0: Launch(1.0, 1.0, 1.0)}], "a", spread=0.01)
    assert bound == pytest.approx(math.exp(2.326348 * 0.01 * math.sqrt(2)), rel=1e-5)


def test_the_functions_behind_the_moderation() -> None:
    """Euler's constant and pi^2 / 6: Abramowitz and Stegun, 6.3.2 and 6.4.2."""
    assert _digamma(1.0) == pytest.approx(-0.5772156649, abs=1e-9)
    assert _trigamma(1.0) == pytest.approx(math.pi**2 / 6, abs=1e-8)
    assert _digamma(7.5) - _digamma(6.5) == pytest.approx(1 / 6.5)


def test_variances_that_are_alike_are_one() -> None:
    dice = np.random.default_rng(3)
    alike = (dice.chisquare(4, 500) / 4).tolist()
    prior, freedom = moderation(alike, [4] * 500)
    assert prior == pytest.approx(1.0, rel=0.15) and freedom > 20
    unlike = (dice.chisquare(4, 500) / 4 * 4 / dice.chisquare(4, 500)).tolist()
    assert 2 < moderation(unlike, [4] * 500)[1] < 8 < KNOWN
