"""Limits that the next launches of a healthy machine stay below; docs/checking.md says what they find."""

from __future__ import annotations

import math
import random

import pytest

from wirespeed.judge.bounds import WIDE, figure_limit, group_limit, known_limits
from wirespeed.judge.model import LaunchMedian, Side
from wirespeed.judge.spreads import STATED, Spread

QUIET, LOUD = Spread(0.003, 0.01), Spread(0.06, 0.07)
SIZES = 8


def side(logs: list[float]) -> Side:
    return {
        number: LaunchMedian(math.exp(log), math.exp(log - 0.002), math.exp(log + 0.002))
        for number, log in enumerate(logs)
    }


def group(logs: list[float]) -> list[Side]:
    """Sizes that differ in speed, each with the same launches."""
    return [side([size + log for log in logs]) for size in range(SIZES)]


def test_a_quiet_group_finds_a_tenth() -> None:
    """Protects from bounds that a slowdown by 10 % keeps; a reboot costs up to 2 %."""
    for spread in (0.0, 0.005, 0.02):
        limit = group_limit(group([spread * z for z in (-1.2, -0.6, 0.0, 0.6, 1.2)]), QUIET)
        assert limit and 1.02 < limit.highest < 1.095


def test_few_launches_do_not_show_a_rare_mode() -> None:
    """Five launches that agree, of a path whose launches differ by 6 % elsewhere; ten show what they do."""
    five = group_limit(group([0.001 * z for z in range(5)]), LOUD)
    ten = group_limit(group([0.001 * z for z in range(10)]), LOUD)
    assert five and five.highest == pytest.approx(math.exp(5 * 0.06), rel=0.01)
    assert ten and ten.highest == pytest.approx(1.05, rel=0.01)


@pytest.mark.parametrize("late", [0.26, -0.26])
def test_an_odd_launch_makes_no_limit_wider(late: float) -> None:
    limit = group_limit(group([0.0, 0.003, late, 0.001, 0.002]), QUIET)
    assert limit and limit.highest < 1.095
    ((name, ratio),) = limit.odd
    assert name == 2 and ratio == pytest.approx(math.exp(late), rel=0.01)


def test_a_figure_takes_twice_the_time_at_most_where_its_group_does() -> None:
    """Protects the rule: beyond x 1.5 nothing is hidden but by launches that differ so much."""
    for kind, of_kind in STATED.items():
        for spread in of_kind.values():
            found = figure_limit(side([0.0, 0.01, 0.02, 0.01, 0.0]), spread)
            assert found and (found.highest / found.usual < WIDE + 0.02 or kind in ("host", "driver"))
    wild = figure_limit(side([0.0, 0.2, 0.4, -0.2, -0.4]), QUIET)
    assert wild and wild.highest > WIDE * wild.usual


def test_no_launch_that_counts_is_above_its_limit() -> None:
    dice = random.Random(1)
    for _ in range(200):
        logs = [dice.gauss(0, 0.1) for _ in range(5)]
        limit = figure_limit(side(logs), QUIET)
        assert limit
        kept = [log for number, log in enumerate(logs) if number not in dict(limit.odd)]
        assert math.exp(max(kept)) <= limit.highest * (1 + 1e-9)


def test_too_few_to_learn_from() -> None:
    assert figure_limit(side([0.0] * 4), QUIET) is None
    assert group_limit(group([0.0] * 5)[:2], QUIET) is None


def test_the_next_pair_of_launches_with_other_noise() -> None:
    """Of 2,000 pairs with Student's t of three degrees of freedom at most 1 % break a limit."""
    dice, broken = random.Random(2), 0

    def noise() -> float:
        return 0.01 * dice.gauss(0, 1) / math.sqrt(dice.gammavariate(1.5, 1 / 1.5))

    for _ in range(2000):
        limit = group_limit(group([noise() for _ in range(5)]), QUIET)
        assert limit
        broken += math.exp(min(noise(), noise())) > limit.highest
    assert broken <= 20


@pytest.mark.parametrize(("of", "share"), [(3, 0.01 / 3), (27, 0.001)])
def test_the_next_pair_with_normal_noise(of: int, share: float) -> None:
    """Protects the share of false alarms of all bounds together, and from bounds that allow for less."""
    dice, broken, pairs = random.Random(3), 0, 6000
    for _ in range(pairs):
        limit = group_limit(group([dice.gauss(0, 0.05) for _ in range(10)])[:3], LOUD, of)
        assert limit
        broken += math.exp(min(dice.gauss(0, 0.05), dice.gauss(0, 0.05))) > limit.highest
    assert share / 3 <= broken / pairs <= 1.3 * share


def test_a_known_spread() -> None:
    """One launch, 2 %: with one figure 1 of 100 launches lies above 2.33 deviations of it and of the mean."""
    (limit,) = known_limits([side([0.0])], 0.02)
    deviation = math.sqrt(2 * (0.02**2 + (0.002 / 1.959964) ** 2))
    assert limit.highest == pytest.approx(math.exp(2.326348 * deviation), rel=1e-4)
