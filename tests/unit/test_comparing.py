"""The statistics behind a comparison: what they promise of any input, and that they keep it on noise."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.statistics.comparison import (
    SPREAD,
    Change,
    Launch,
    change,
    convincing,
    next_launch,
    roughness,
    student_point,
    student_tail,
    unrest,
)


def launch(seconds: float, share: float = 0.003) -> Launch:
    return Launch(seconds, seconds * (1 - share), seconds * (1 + share))


LAUNCH = st.builds(launch, st.floats(1e-7, 10.0), st.floats(0.0, 0.5))
SIDE = st.lists(LAUNCH, min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.30265), (4, 2.77645), (10, 2.22814), (30, 2.04227), (100, 1.98397)]
)
def test_students_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    """NIST/SEMATECH e-Handbook, section 1.3.6.7.2, column 0.975."""
    assert student_tail(t, freedom) == pytest.approx(0.05, rel=1e-4)
    assert student_point(0.05, freedom) == pytest.approx(t, rel=1e-5)


@given(st.floats(0.5, 200), st.floats(0, 50), st.floats(0, 50))
def test_tails_grow_thinner(freedom: float, one: float, other: float) -> None:
    near, far = sorted((one, other))
    assert 0 <= student_tail(far, freedom) <= student_tail(near, freedom) * (1 + 1e-9) <= 1 + 1e-9


@given(SIDE, SIDE)
def test_sides_swapped_give_the_same_verdict(old: list[Launch], new: list[Launch]) -> None:
    """Protects from a test that likes one side: the ratio turns round, how sure it is stays."""
    there, back = change(old, new), change(new, old)
    assert there and back
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.p == pytest.approx(back.p, rel=1e-6)
    low, high = there.interval()
    assert low <= there.ratio <= high
    assert back.interval() == pytest.approx((1 / high, 1 / low), rel=1e-6)


@given(SIDE, SIDE, st.floats(1.0, 10.0))
def test_the_slower_the_surer(old: list[Launch], new: list[Launch], factor: float) -> None:
    """Protects order: what is slower by more is at least as surely slower."""
    slower = [Launch(one.median * factor, (one.low or 0) * factor, (one.high or 0) * factor) for one in new]
    before, after = change(old, new), change(old, slower)
    assert before and after
    assert after.ratio == pytest.approx(before.ratio * factor)
    if before.log_ratio >= 0:
        assert after.p <= before.p * (1 + 1e-9)


@given(SIDE, SIDE, st.floats(1e-6, 1e6))
def test_units_do_not_matter(old: list[Launch], new: list[Launch], factor: float) -> None:
    def scaled(side: list[Launch]) -> list[Launch]:
        return [Launch(x.median * factor, (x.low or 0) * factor, (x.high or 0) * factor) for x in side]

    one, other = change(old, new), change(scaled(old), scaled(new))
    assert one and other and one.p == pytest.approx(other.p, rel=1e-4, abs=1e-9)


def test_one_launch_a_side_is_judged_by_the_spread_assumed() -> None:
    """Protects from taking the interval of one launch for all there is to know."""
    sharp = change([launch(1.0, 1e-6)], [launch(1.02, 1e-6)])
    trusting = change([launch(1.0, 1e-6)], [launch(1.02, 1e-6)], spread=0.001)
    assert sharp and trusting
    assert sharp.p > 0.05 > trusting.p


def test_without_intervals_one_launch_says_nothing() -> None:
    bare = Launch(1.0, None, None)
    assert change([bare], [bare]) is None
    assert change([bare], [launch(2.0)]) is None
    assert change([], [launch(2.0)]) is None
    # Several launches speak for themselves.
    several = change([bare] * 3, [Launch(2.0, None, None)] * 3)
    assert several and several.p < 0.01


def test_what_launches_show_outweighs_what_was_assumed() -> None:
    wild = change([launch(x) for x in (1.0, 1.3, 0.8, 1.2)], [launch(x) for x in (1.1, 0.9, 1.3, 1.4)])
    calm = change([launch(x) for x in (1.0, 1.001, 1.0, 1.0)], [launch(x) for x in (1.1, 1.1, 1.1, 1.101)])
    assert wild and calm and wild.p > 0.05 and calm.p < 0.001


def test_a_common_shift_is_not_rough_and_jagged_changes_are() -> None:
    smooth = [Change(0.05 + 0.001 * i, 0.01, 3, (1, 1)) for i in range(10)]
    jagged = [Change(0.2 * (-1) ** i, 0.01, 3, (1, 1)) for i in range(10)]
    assert roughness(smooth) == 1.0
    assert roughness(jagged) > 10
    assert roughness(jagged[:4]) == 1.0


def test_a_rougher_error_makes_a_change_less_sure() -> None:
    sure = Change(0.05, 0.01, 10, (3, 3))
    wide = sure.rougher(2.0)
    assert wide.p > sure.p
    assert math.log(wide.interval()[1] / wide.ratio) == pytest.approx(
        2 * math.log(sure.interval()[1] / sure.ratio)
    )


def test_unrest_is_how_many_times_further_apart_launches_lie() -> None:
    """Against a known truth: launches of many figures that differ by three times what is expected."""
    dice = random.Random(5)

    def side() -> list[Launch]:
        return [launch(math.exp(dice.gauss(0, 0.03)), 1e-9) for _ in range(2)]

    pairs = [(side(), side()) for _ in range(2_000)]
    assert unrest(pairs, spread=0.01) == pytest.approx(3, rel=0.1)


def test_where_the_next_launch_is_expected() -> None:
    """Protects both ends of a learnt bound: as far below the middle as above it, outside all launches."""
    seen = [0.99, 1.0, 1 / 0.99]
    found = next_launch([launch(x) for x in seen], 0.95)
    assert found and found[0] < seen[0] and found[1] > seen[-1]
    assert found[0] * found[1] == pytest.approx(1)
    surer = next_launch([launch(x) for x in seen], 0.99)
    assert surer and surer[0] < found[0] and surer[1] > found[1]


@given(st.lists(st.floats(0, 1), max_size=40))
def test_what_is_convincing(p_values: list[float]) -> None:
    """Benjamini and Hochberg's rule: at least what Bonferroni names, nothing above the rate, no gaps."""
    chosen = convincing(p_values)
    named = [p for p, one in zip(p_values, chosen, strict=True) if one]
    others = [p for p, one in zip(p_values, chosen, strict=True) if not one]
    assert all(p <= 0.05 for p in named)
    assert all(p > 0.05 / len(p_values) for p in others)
    assert not named or not others or max(named) <= min(others)


def alarms(launches: int, spread: float, slower: float, seed: int, figures: int = 12) -> float:
    """The share of 200 comparisons that name a figure as slower."""
    dice, found = random.Random(seed), 0

    def side(mean: float) -> list[Launch]:
        # A launch is off as a whole, and each of its figures once more.
        return [launch(math.exp(mean + dice.gauss(0, spread)), 0.002) for _ in range(launches)]

    for _ in range(200):
        sides = [(side(0.0), side(slower)) for _ in range(figures)]
        changes = [change(old, new, SPREAD * unrest(sides)) for old, new in sides]
        known = [one for one in changes if one]
        real = convincing([one.p for one in known])
        found += any(yes and one.log_ratio > 0 for yes, one in zip(real, known, strict=True))
    return found / 200


@pytest.mark.parametrize(
    ("launches", "spread"), [(1, 0.005), (1, 0.01), (2, 0.02), (3, 0.02), (3, 0.1), (5, 0.3)]
)
def test_false_alarms_stay_rare(launches: int, spread: float) -> None:
    """Protects from crying wolf: launches that vary as assumed, or as they like if several are seen."""
    assert alarms(launches, spread, 0.0, seed=1) <= 0.05


@pytest.mark.parametrize(("launches", "slower"), [(1, 0.10), (3, 0.05), (5, 0.03)])
def test_planted_changes_are_found(launches: int, slower: float) -> None:
    assert alarms(launches, SPREAD, slower, seed=2) >= 0.95


def test_the_assumed_spread_is_the_measured_one() -> None:
    """Holds SPREAD against the result files that it comes from."""
    from pathlib import Path

    import wirespeed

    figures: dict[tuple[str, int], list[float]] = {}
    for name in ("pingpong", "survey", "paths"):
        results = wirespeed.load(Path(__file__).parents[2] / "results" / f"h200-x2-{name}.jsonl")
        for entry in results.entries:
            figures.setdefault((entry.path, entry.bytes), []).append(math.log(entry.seconds))
    spreads = []
    for logs in figures.values():
        if len(logs) > 1:
            mean = sum(logs) / len(logs)
            spreads.append(math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1)))
    spreads.sort()
    assert len(spreads) == 48
    assert spreads[len(spreads) // 2] == pytest.approx(SPREAD, rel=0.2)
