"""Bounds learnt from launches: they hold together, whatever launches have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from wirespeed.judge.model import LaunchMedian, Side
from wirespeed.judge.next_launch import (
    FALSE_ALARMS,
    FEWEST_LAUNCHES,
    _digamma,
    _reach,
    _trigamma,
    highest_next,
    moderation,
    robust_moderation,
)
from wirespeed.statistics.student import KNOWN

Floats = NDArray[np.float64]
HUNDREDTH = 0.01
"""Of pairs of launches, at most, break a bound, whatever the noise."""


def side(logs: list[float]) -> dict[object, LaunchMedian]:
    times = [math.exp(log) for log in logs]
    return {number: LaunchMedian(time, time * 0.9999, time * 1.0001) for number, time in enumerate(times)}


def slowest_next(
    sides: list[Side], paths: Sequence[object], spread: float | None = None
) -> list[float | None]:
    return highest_next(sides, paths, spread).figures


def twice(logs: Floats, bounds: list[float | None]) -> float:
    """The share of launches that break any bound which the one before has broken, too; all have bounds."""
    assert all(bounds)
    beyond = logs > np.log([bound or math.nan for bound in bounds])[:, np.newaxis]
    return float((beyond[:, 1:] & beyond[:, :-1]).any(axis=0).mean())


def pairs_found(logs: Floats, of: list[int], launches: int) -> Floats:
    """Shares of pairs of launches: sound ones that break a figure's bound; those that are 10 % slower and
    break a path's.
    """
    highest = highest_next([side(row[:launches].tolist()) for row in logs], of)
    usual = np.log([*highest.usual.values()])[:, np.newaxis]
    slower = logs[:, launches:] + math.log(1.1) - usual
    medians = np.stack([np.median(slower[np.array(of) == path], axis=0) for path in highest.paths])
    sound = twice(logs[:, launches:], highest.figures)
    return np.array([sound, twice(medians, [*highest.paths.values()])])


def broken(launches: int, common: float, of_path: float, own: float, paths: int, sizes: int) -> float:
    """The share of healthy pairs of launches that break any bound: 25 machines, 20 launches of each."""
    dice, found = np.random.default_rng(7), 0.0
    of = [path for path in range(paths) for _ in range(sizes)]
    for _ in range(25):
        logs = common * dice.standard_normal(launches + 20)
        logs = logs + of_path * dice.standard_normal((paths, launches + 20)).repeat(sizes, axis=0)
        logs = logs + own * dice.standard_normal((paths * sizes, launches + 20))
        bounds = slowest_next([side(row[:launches].tolist()) for row in logs], of)
        found += twice(logs[:, launches:], bounds)
    return found / 25


@pytest.mark.parametrize(
    "effects", [(0.02, 0.0, 0.002), (0.0, 0.02, 0.002), (0.0, 0.0, 0.02), (0.01, 0.01, 0.01)]
)
@pytest.mark.parametrize("paths", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_a_healthy_launch_breaks_no_bound(paths: int, effects: tuple[float, float, float]) -> None:
    """Protects nodes: one pair of launches in a hundred breaks any bound, whatever they have in common."""
    assert broken(5, *effects, paths, 6) <= 2 * FALSE_ALARMS


def test_a_spread_is_the_standard_deviation_between_launches() -> None:
    """Protects what check says that it finds from the tail, which bounds must reach and a spread must not."""
    medians = []
    for seed in range(5):
        logs = 0.02 * np.random.default_rng(seed).standard_normal((31, 10))
        highest = highest_next([side(row.tolist()) for row in logs], "a" * 31)
        assert highest.spreads.keys() == highest.usual.keys()
        medians.append(np.median([*highest.spreads.values()]))
    assert 0.02 < np.mean(medians) < 0.0235


def test_delays_of_whole_launches_break_few_bounds() -> None:
    """Protects nodes where launches are late now and then: nine paths, each with a launch's own delay."""
    dice, found = np.random.default_rng(7), 0.0
    for _ in range(60):
        logs = dice.exponential(0.01, (9, 45)).repeat(2, axis=0) + 0.001 * dice.standard_normal((18, 45))
        bounds = slowest_next([side(row[:5].tolist()) for row in logs], [row // 2 for row in range(18)])
        found += twice(logs[:, 5:], bounds) / 60
    assert found <= HUNDREDTH


@pytest.mark.parametrize(("kind", "most"), [("exponential", HUNDREDTH), ("standard_normal", 0.002)])
def test_few_launches_leave_room_for_delays(kind: str, most: float) -> None:
    """Protects nodes whose launches of 1 % are late now and then: five of one path do not show it."""
    dice, found, widths = np.random.default_rng(7), 0.0, []
    for _ in range(100):
        logs = 0.01 * getattr(dice, kind)(size=(1, 65)).repeat(2, axis=0)
        logs += 0.001 * dice.standard_normal((2, 65))
        bounds = slowest_next([side(row[:5].tolist()) for row in logs], "aa")
        found += twice(logs[:, 5:], bounds) / 100
        highest = np.log(np.array(bounds, dtype=float))
        widths.append(float(np.mean(highest - logs[:, :5].mean(axis=1))))
    assert found <= most
    # A slowdown by a tenth is beyond it.
    assert np.quantile(widths, 0.9) < 0.08


def test_late_figures_break_few_bounds() -> None:
    """Protects nodes of whose 270 figures one in twenty is late by 5 %, which raises some variances."""
    dice, shares = np.random.default_rng(7), []
    for _ in range(8):
        logs = 0.01 * dice.standard_normal((270, 25))
        logs += np.where(dice.random(logs.shape) < 0.05, np.log1p(dice.exponential(0.05, logs.shape)), 0.0)
        shares.append(pairs_found(logs, [row // 30 for row in range(270)], 5))
    sound, slow = np.mean(shares, axis=0)
    assert sound <= HUNDREDTH and slow > 0.9


def test_figures_with_a_heavy_tail_break_few_bounds() -> None:
    """Protects nodes of whose 31 figures single ones are far off (Student's t, 3 degrees of freedom)."""
    dice, shares = np.random.default_rng(7), []
    for _ in range(40):
        logs = 0.01 * dice.standard_t(3, (31, 45))
        shares.append(pairs_found(logs, [0] * 31, 5))
    sound, slow = np.mean(shares, axis=0)
    assert sound <= HUNDREDTH and slow > 0.9


@pytest.mark.parametrize(("shape", "share"), [(0.0, 0.2), (0.3, 0.4)])
def test_how_far_a_tail_reaches(shape: float, share: float) -> None:
    """Of 2,000 values: where one in 100,000 of a generalised Pareto distribution is, about."""
    spread = np.arange(1, 2_001) / 2_001
    values = -np.log1p(-spread) if not shape else ((1 - spread) ** -shape - 1) / shape
    true = -math.log(1e-5) if not shape else (1e-5**-shape - 1) / shape
    assert _reach(values, 1e-5) == pytest.approx(true, rel=share)
    # Normal values have a lighter tail: it is taken as exponential.
    normal = np.array([NormalDist().inv_cdf(share) for share in spread])
    assert 4.2 < _reach(normal, 1e-5) < 6.5


def test_room_for_delays_is_bounded() -> None:
    """Quiet launches have room in proportion, restless ones no more than their spread asks for."""
    steps = [0.0, 0.5, 0.7, 1.0, 1.5]
    dice, over_normal = np.random.default_rng(7), []
    pairs = dice.standard_normal((2, 200_000)).min(axis=0) + dice.normal(0, math.sqrt(0.2), 200_000)
    far = np.quantile(pairs / np.sqrt(dice.chisquare(4, 200_000) / 4), 1 - FALSE_ALARMS)
    for size in (0.001, 0.1):
        logs = np.array(steps) * size
        (bound,) = slowest_next([side(logs.tolist())], "a")
        over_normal.append((math.log(bound or 0) - np.mean(logs)) / (far * np.std(logs, ddof=1)))
    assert 1.3 < over_normal[0] < 4 and over_normal[1] == pytest.approx(1.0, rel=0.15)


def test_delays_that_many_launches_show_widen_the_bound() -> None:
    """Twenty launches of one variance: their quantiles are normal, or those of delays behind the fastest."""
    shares = [(number + 0.5) / 20 for number in range(20)]
    shapes = [NormalDist().inv_cdf(share) for share in shares], [-math.log1p(-share) for share in shares]
    far = []
    for shape in shapes:
        logs = 0.002 * (np.array(shape) - np.mean(shape)) / np.std(shape)
        (bound,) = slowest_next([side(logs.tolist())], "a")
        far.append(math.log(bound or 0))
    assert 0.004 < far[0] < 0.011 and far[1] > 1.3 * far[0]


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
    (bound,) = slowest_next([{0: LaunchMedian(1.0, 1.0, 1.0)}], "a", spread=0.01)
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
    robust, freedoms = robust_moderation(np.array(alike), np.full(500, 4.0))
    assert robust == pytest.approx(1.0, rel=0.15) and freedoms > 20
    raised = np.array(alike) * np.where(np.arange(500) % 5, 1.0, 30.0)
    robust, freedoms = robust_moderation(raised, np.full(500, 4.0))
    assert 1.0 < robust < 1.5 and freedoms > 10
    assert moderation(raised.tolist(), [4] * 500)[1] < 5
    unlike = (dice.chisquare(4, 500) / 4 * 4 / dice.chisquare(4, 500)).tolist()
    assert 2 < moderation(unlike, [4] * 500)[1] < 8 < KNOWN
