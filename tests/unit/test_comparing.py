"""The statistics of a comparison: what they promise of any input, keep on noise, and give by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import result

from wirespeed.judge.model import (
    PAIRED,
    SEEN,
    UNSEEN_SPREAD,
    Change,
    GroupChange,
    LaunchId,
    LaunchMedian,
    Prior,
    group_change,
    odd_launches,
)
from wirespeed.judge.model import change as change_with
from wirespeed.judge.spreads import STATED, Spread, groups, stated
from wirespeed.judge.verdict import HARMFUL, LIKELY_WORSE, NOT_WORSE, UNSURE, WORSE, excludes, verdict
from wirespeed.paths import mover_of
from wirespeed.statistics.student import (
    COMPARED_ALARMS,
    convincing,
    found_at,
    simes,
    student_point,
    student_tail,
)

USUAL = Spread(0.05, 0.05)


def change(old: list[LaunchMedian], new: list[LaunchMedian], spread: float | None = None) -> Change | None:
    return change_with(old, new, Prior(USUAL.figure, spread))


def launch(seconds: float, share: float = 0.003) -> LaunchMedian:
    return LaunchMedian(seconds, seconds * (1 - share), seconds * (1 + share))


LAUNCH = st.builds(launch, st.floats(1e-7, 10.0), st.floats(0.0, 0.5))
SIDE = st.lists(LAUNCH, min_size=1, max_size=6)


@given(SIDE, SIDE)
def test_sides_swapped_give_the_same_verdict(old: list[LaunchMedian], new: list[LaunchMedian]) -> None:
    """Protects from a test that likes one side: the ratio turns round, how sure it is stays."""
    there, back = change(old, new), change(new, old)
    assert there and back
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.p == pytest.approx(back.p, rel=1e-6)
    low, high = there.interval()
    assert low <= there.ratio <= high
    assert back.interval() == pytest.approx((1 / high, 1 / low), rel=1e-6)


@given(SIDE, SIDE, st.floats(1.0, 10.0))
def test_the_slower_the_surer(old: list[LaunchMedian], new: list[LaunchMedian], factor: float) -> None:
    """Protects order: what is slower by more is at least as surely slower."""
    slower = [
        LaunchMedian(one.median * factor, (one.low or 0) * factor, (one.high or 0) * factor) for one in new
    ]
    before, after = change(old, new), change(old, slower)
    assert before and after
    assert after.ratio == pytest.approx(before.ratio * factor)
    if before.log_ratio >= 0:
        assert after.p <= before.p * (1 + 1e-9)


def test_one_launch_a_side_is_judged_by_what_is_stated() -> None:
    """Protects from taking the interval of one launch for all there is to know."""
    for ratio, what in ((1.02, NOT_WORSE), (1.25, NOT_WORSE), (1.3, LIKELY_WORSE)):
        found = change([launch(1.0, 1e-6)], [launch(ratio, 1e-6)])
        assert found and found.p == 1 and verdict(found, False, 0.0) == what
        assert not excludes(found, 0.0), "three times 5 % is not excluded by one launch a side"
    known = change([launch(1.0, 1e-6)], [launch(1.1, 1e-6)], spread=0.01)
    assert known and known.p < 0.05


def test_a_tenth_or_three_times_the_spread_must_be_excluded() -> None:
    """Five launches a side that differ by 2 %, and by 8 %: 4 % slower is within, 9 % and 35 % are not."""
    for spread, within, beyond in ((0.02, 0.04, 0.09), (0.08, 0.05, 0.2)):
        logs = [spread * z for z in (-1.26, -0.63, 0.0, 0.63, 1.26)]
        old = [launch(math.exp(log)) for log in logs]
        for slower, what in ((within, NOT_WORSE), (beyond, UNSURE)):
            found = change(old, [launch(math.exp(log + slower)) for log in logs])
            assert found and verdict(found, False, 0.0) == what
            assert verdict(found, True, 0.0) == WORSE


def test_groups_of_sizes() -> None:
    sizes = [1 << 30, 8, 4096, 8192, 1 << 19, 1 << 20]
    assert groups(sizes) == [[1, 2], [3, 4], [5, 0]]
    assert stated("device", 8) == STATED["device"]["short"]
    assert (mover_of("of-another-tool"), mover_of("of-another-tool", "device")) == ("host", "woken")


def _turns(ratio: float, drift: float, at: str = "{:02}") -> Change:
    """Ten launches a side, by turns, that differ by 1 %; they become slower by `drift` meanwhile."""
    dice = random.Random(4)
    both = [
        LaunchMedian(math.exp(dice.gauss(0, 0.01) + drift * place / 20), None, None, at.format(place))
        for place in range(20)
    ]
    old, new = (
        [launch for place, launch in enumerate(both) if (place + 1) // 2 % 2 == side] for side in (0, 1)
    )
    found = change(old, [replace(launch, median=launch.median * ratio) for launch in new])
    assert found
    return found


def test_launches_by_turns_are_paired_where_both_sides_drift() -> None:
    """Protects from a drift that hides a change, and from pairs that only chance makes alike."""
    found = _turns(1.03, drift=0.2)
    assert found.source == PAIRED and found.p < 1e-3 and found.ratio == pytest.approx(1.03, abs=0.01)
    assert _turns(1.0, drift=0.2).p > 0.05
    assert _turns(1.03, drift=0.2, at="").source == SEEN and _turns(1.03, drift=0.2, at="").p > 0.05
    assert _turns(1.03, drift=0.0).source == SEEN, "nothing is common to both sides"


@pytest.mark.parametrize("slower", [1.3, 1 / 1.3])
def test_an_odd_launch_is_named(slower: float) -> None:
    calm = [0.01, -0.01, 0.0, 0.005]
    (odd,) = odd_launches([*calm, math.log(slower)], 1, 0.02)
    assert (odd.side, odd.number) == (1, 5) and odd.ratio == pytest.approx(slower, rel=0.01)
    assert not odd_launches([*calm, math.log(slower)], 1, 0.06), "such launches differ as much"
    assert not odd_launches([0.1, -0.1, 0.05, -0.05, math.log(slower)], 1, 0.02), "so do these"
    assert not odd_launches([*calm, math.log(1.05)], 1, 0.001)


def curve(logs: list[list[float]]) -> list[dict[Any, LaunchMedian]]:
    """For each size the launches with these logarithms."""
    return [{number: launch(math.exp(log), 0.0005) for number, log in enumerate(row)} for row in logs]


def paired(old: list[list[float]], new: list[list[float]]) -> GroupChange:
    return group_change(list(zip(curve(old), curve(new), strict=True)), USUAL)


def test_a_launch_counts_once_however_many_sizes_it_has() -> None:
    """Protects from 31 sizes of one slow launch that look like 31 witnesses."""
    dice = random.Random(1)
    effects = [[dice.gauss(0, 0.03) for _ in range(3)] for _ in range(2)]
    alone = paired([effects[0]], [effects[1]])
    many = paired([effects[0]] * 31, [effects[1]] * 31)
    assert alone.whole and many.whole
    assert many.whole.p == pytest.approx(alone.whole.p, rel=0.05)
    assert many.p >= alone.p


def test_one_wild_size_does_not_hide_a_slow_path() -> None:
    dice = random.Random(2)
    spreads = [0.003] * 8 + [0.5]
    old = [[dice.gauss(0, spread) for _ in range(3)] for spread in spreads]
    new = [[math.log(1.05) + dice.gauss(0, spread) for _ in range(3)] for spread in spreads]
    found = paired(old, new)
    assert found.whole and found.whole.ratio == pytest.approx(1.05, rel=0.01) and found.p < 0.01


def test_one_slow_size_is_found_without_the_others() -> None:
    dice = random.Random(3)
    old = [[dice.gauss(0, 0.003) for _ in range(5)] for _ in range(8)]
    new = [[0.1 * (size == 3) + dice.gauss(0, 0.003) for _ in range(5)] for size in range(8)]
    found = paired(old, new)
    assert found.p < 0.01 and found.whole and found.whole.p > 0.05


def test_earlier_launches_say_what_launches_differ_by() -> None:
    """Protects from sides that agree by chance."""
    calm, new = [launch(1.0 + 0.0001 * number) for number in range(5)], [launch(1.05)] * 3

    def p(history: list[LaunchMedian]) -> float:
        old, later, seen = (dict[LaunchId, LaunchMedian](enumerate(side)) for side in (calm, new, history))
        return group_change([(old, later)] * 3, USUAL, history=[seen] * 3).p

    alone, same, unsure = p([]), p(calm), p([launch(1.0), launch(1.05)] * 9)
    assert alone < 1e-4 and same == pytest.approx(alone) and unsure > 0.05


@pytest.mark.parametrize("learnt", [None, Spread(0.002, 0.002)])
def test_calm_launches_do_not_deny_what_such_paths_differ_by(learnt: Spread | None) -> None:
    """Protects from a rare slow mode that no earlier launch had, and from a path that nothing is told of."""

    def told_of(ratio: float, usual: Spread) -> GroupChange:
        calm = dict[LaunchId, LaunchMedian](enumerate(launch(1.0 + 0.001 * number) for number in range(7)))
        pair = (
            dict[LaunchId, LaunchMedian]({0: launch(1.0)}),
            dict[LaunchId, LaunchMedian]({0: launch(ratio)}),
        )
        return group_change([pair] * 7, usual, history=[calm] * 7, learnt=[learnt] * 7)

    def verdict_of(ratio: float, usual: Spread) -> str:
        told = told_of(ratio, usual)
        assert told.whole
        return verdict(told.whole, told.p < level, 0.0)

    level = 0.05 / 27
    assert verdict_of(2.5, STATED["host"]["middle"]) not in HARMFUL
    assert verdict_of(1.04, STATED["device"]["middle"]) not in HARMFUL
    assert verdict_of(2.0, STATED["woken"]["middle"]) in HARMFUL
    assert verdict_of(2.0, STATED["device"]["long"]) in HARMFUL
    found = told_of(1.0, STATED["host"]["middle"]).smallest(level, likely=True)
    assert found and verdict_of(1 + found, STATED["host"]["middle"]) == LIKELY_WORSE


def test_a_restless_side_does_not_borrow_the_calm_of_the_other() -> None:
    """Ten calm launches say nothing of how two others differ: 12 % of them lie as far off as these."""
    calm = [launch(math.exp(0.001 * number)) for number in range(-5, 5)]
    restless = change(calm, [launch(1.02), launch(1.15)])
    assert restless and restless.freedom == 1 and restless.p > 0.05


@pytest.mark.parametrize("freedom", [1.0, 2.7, 4.0, 8.0, 1e6])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_the_smallest_change_that_is_found(level: float, freedom: float) -> None:
    """Protects the figure that says what a silent verdict is worth: nine of ten such changes are named."""
    numpy = pytest.importorskip("numpy")
    dice = numpy.random.default_rng(1)
    true = found_at(level, freedom)
    errors = numpy.sqrt(dice.chisquare(freedom, 20_000) / freedom)
    found = numpy.abs(dice.standard_normal(20_000) + true) / errors > student_point(level, freedom)
    assert found.mean() == pytest.approx(0.9, abs=0.01)


def test_simes() -> None:
    assert simes([]) == 1.0 and simes([0.2]) == 0.2
    assert simes([0.01, 0.9, 0.9, 0.9]) == pytest.approx(0.04)
    assert simes([0.03] * 5) == pytest.approx(0.03)


def alarms(
    launches: tuple[int, int], common: float, own: float, slower: float = 1.0, paths: int = 1, sizes: int = 6
) -> float:
    """The share of 200 comparisons that name the first path as slower, or, where nothing is, anything."""
    dice, found = random.Random(1), 0

    def side(count: int, mean: float) -> list[list[float]]:
        effects = [dice.gauss(mean, common) for _ in range(count)]
        return [[effect + dice.gauss(0, own) for effect in effects] for _ in range(sizes)]

    for _ in range(200):
        changes = [
            paired(side(launches[0], 0.0), side(launches[1], math.log(slower) if path == 0 else 0.0))
            for path in range(paths)
        ]
        named = convincing([one.p for one in changes])
        found += named[0] if slower > 1 else any(named)
    return found / 200


@pytest.mark.parametrize("common", [0.01, 0.03, 0.05])
@pytest.mark.parametrize("launches", [(2, 2), (3, 3), (5, 5), (3, 1), (10, 2)])
def test_what_is_common_to_a_launch_is_no_false_alarm(launches: tuple[int, int], common: float) -> None:
    """Protects from crying wolf: every launch is off as a whole, at all its sizes."""
    # Two sigma of 200 comparisons above what is promised.
    assert alarms(launches, common, 0.003) <= COMPARED_ALARMS + 0.031


@pytest.mark.parametrize(("paths", "sizes"), [(1, 5), (9, 3)])
def test_one_late_launch_against_five_is_no_false_alarm(paths: int, sizes: int) -> None:
    """Protects a side of one where noise is skewed: five launches often show none that is late."""
    dice, found = random.Random(1), 0

    def side(count: int) -> list[list[float]]:
        return [[dice.expovariate(100) for _ in range(count)] for _ in range(sizes)]

    for _ in range(100):
        named = convincing([paired(side(5), side(1)).p for _ in range(paths)])
        found += any(named)
    assert found <= 8


@pytest.mark.parametrize(("launches", "paths"), [((3, 3), 1), ((5, 5), 9)])
def test_planted_changes_are_found(launches: tuple[int, int], paths: int) -> None:
    assert alarms(launches, 0.01, 0.003, slower=1.05, paths=paths, sizes=3) >= 0.9


def test_the_assumed_spread_is_more_than_most_that_was_measured() -> None:
    """Holds UNSEEN_SPREAD against result files: nine figures of ten spread less."""

    import wirespeed

    figures: dict[tuple[str, int], list[float]] = {}
    for name in ("pingpong", "survey", "paths"):
        results = wirespeed.load(result(f"h200-x2-{name}"))
        for entry in results.entries:
            figures.setdefault((entry.path, entry.bytes), []).append(math.log(entry.seconds))
    spreads = []
    for logs in figures.values():
        if len(logs) > 1:
            mean = sum(logs) / len(logs)
            spreads.append(math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1)))
    spreads.sort()
    assert len(spreads) == 48
    assert spreads[len(spreads) // 2] < 0.02
    assert spreads[int(0.9 * len(spreads))] < UNSEEN_SPREAD
    print(spreads)


NORMAL_975 = 1.959963984540054
T_975 = {3: 3.182446305, 4: 2.776445105, 6: 2.446911851}
"""Student's t, two-sided 95 %: NIST/SEMATECH e-Handbook, section 1.3.6.7.2, to more digits."""


def ratio_of(log_ratio: float, error: float, freedom: float, launches: tuple[int, int] = (1, 1)) -> Change:
    return Change(log_ratio, error, freedom, launches, 0.0, 0.05)


def bare(*logs: float) -> list[LaunchMedian]:
    """Launches without intervals, by the logarithms of their medians."""
    return [LaunchMedian(math.exp(log), None, None) for log in logs]


def known(log: float, deviation: float) -> LaunchMedian:
    """A launch whose interval is that of a normal distribution with this standard deviation."""
    half = NORMAL_975 * deviation
    return LaunchMedian(math.exp(log), math.exp(log - half), math.exp(log + half))


# ---- Student's t ----------------------------------------------------------------------------------------

CLOSED_FORMS: dict[int, Callable[[float], float]] = {
    # Abramowitz and Stegun, 26.7.3 and 26.7.4.
    1: lambda t: 1 - 2 / math.pi * math.atan(t),
    2: lambda t: 1 - t / math.sqrt(2 + t * t),
    3: lambda t: 1 - 2 / math.pi * (math.atan(t / math.sqrt(3)) + t * math.sqrt(3) / (3 + t * t)),
    4: lambda t: 1 - t / math.sqrt(4 + t * t) * (1 + 2 / (4 + t * t)),
}


@pytest.mark.parametrize("freedom", CLOSED_FORMS)
@pytest.mark.parametrize("t", [1e-3, 0.1, 0.5, 0.9, 1.0, 1.5, 3.0, 10.0, 100.0])
def test_tails_have_closed_forms(freedom: int, t: float) -> None:
    expected = CLOSED_FORMS[freedom](t)
    assert student_tail(t, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    assert student_point(expected, freedom) == pytest.approx(t, rel=1e-6)


def test_tails_at_both_ends() -> None:
    assert student_tail(0, 3) == student_tail(-1, 3) == student_tail(1e-200, 3) == 1.0
    assert student_tail(1e200, 3) == 0.0


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    """Protects the continued fraction where it converges slowest."""
    for t in (0.01, 0.5, 1.0, 2.0, 4.0):
        assert student_tail(t, 1e7) == pytest.approx(math.erfc(t / math.sqrt(2)), rel=1e-5)
    assert student_point(0.05, 1e7) == pytest.approx(NORMAL_975, rel=1e-5)


# ---- one figure -----------------------------------------------------------------------------------------


def test_a_launch_knows_its_own_variance() -> None:
    assert known(0.0, 0.02).variance == pytest.approx(0.0004)
    for low, high in ((None, 1.0), (1.0, None), (0.0, 1.0)):
        assert LaunchMedian(1.0, low, high).variance is None


def test_one_launch_a_side() -> None:
    """Variance 0.05^2 + 0.03^2 of each; five standard deviations is how far two such launches lie apart."""
    found = change([known(0.0, 0.03)], [known(0.05, 0.01)])
    assert found and found.launches == (1, 1) and not found.seen and found.p == 1.0
    assert found.log_ratio == pytest.approx(0.05) and found.ratio == pytest.approx(math.exp(0.05))
    assert found.error == pytest.approx(math.sqrt(2 * 0.0034)) and found.spread == pytest.approx(0.0034**0.5)
    reach = 5 * math.sqrt(0.0034)
    assert found.interval() == pytest.approx((math.exp(0.05 - reach), math.exp(0.05 + reach)))


def test_a_spread_that_is_known() -> None:
    """Normal, with variance 0.02^2 + 0.01^2 of each launch, unless launches differ by more."""
    found = change([known(0.0, 0.01)], [known(0.05, 0.01)], spread=0.02)
    assert found and found.error == pytest.approx(math.sqrt(2 * 0.0005))
    assert found.p == pytest.approx(math.erfc(0.05 / math.sqrt(0.001) / math.sqrt(2)), rel=1e-4)
    contradicted = change(bare(0.0, 0.2), bare(0.1, 0.3), spread=0.02)
    assert contradicted and contradicted.freedom == pytest.approx(2)
    assert contradicted.error == pytest.approx(math.sqrt(0.02))


def test_two_and_two() -> None:
    """Ratios 0.1, 0.14, 0.08 and 0.12; variances 0.0002 and 0.0008, pooled 0.0005."""
    found = change(bare(0.0, 0.02), bare(0.1, 0.14))
    assert found and found.launches == (2, 2) and found.log_ratio == pytest.approx(0.11)
    assert found.error == pytest.approx(math.sqrt(0.0005))
    assert found.freedom == 2 and found.spread == pytest.approx(math.sqrt(0.0005))


def test_one_late_launch_moves_the_ratio_little() -> None:
    """Of nine ratios 0 and 0.02 by turns with three late ones, the fifth is the median."""
    found = change(bare(0.0, 0.0, 0.0), bare(0.0, 0.02, 5.0))
    assert found and found.log_ratio == pytest.approx(0.02)


def test_unequal_sides() -> None:
    """Three and four. Where the pooled variance gives the larger error, it counts."""
    old, new = bare(-0.03, 0.0, 0.03), bare(0.1, 0.1, 0.12, 0.12)
    found = change(old, new)
    # Sums of squares 0.0018 and 0.0004: variances 0.0009 and 0.0004 / 3.
    parts = 0.0009 / 3, 0.0004 / 3 / 4
    assert found and found.error == pytest.approx(math.sqrt(1.1 * sum(parts)))
    assert found.freedom == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 3))
    calm = change(bare(0.0, 0.0, 0.0), bare(0.1, 0.1, 0.16, 0.16))
    # At least 0.001^2 on the left; squares 2e-6 and 0.0036, pooled over five degrees of freedom.
    assert calm and calm.error == pytest.approx(math.sqrt(1.1 * (2e-6 + 0.0036) / 5 * (1 / 3 + 1 / 4)))


def test_one_launch_against_several() -> None:
    """Protects a side of one: it is held against the spread of the other side, at half its freedom."""
    found, more = change(bare(0.0), bare(0.1, 0.12, 0.14)), change(bare(0.0, 0.1, 0.2, 0.1, 0.0), bare(0.0))
    assert found and found.freedom == 1 and more and more.freedom == 2
    assert found.error == pytest.approx(math.sqrt(0.0004 * (1 + 1 / 3)))
    assert change(bare(0.0, 0.0), []) is None and change([], bare(0.0, 0.0)) is None
    assert change([known(0.0, 0.01)], bare(0.1)) is None


def test_changes_without_doubt() -> None:
    """Protects published figures, which are exact: no division by an error of nothing."""
    assert ratio_of(0.0, 0.0, 3, (1, 1)).p == 1.0
    assert ratio_of(0.1, 0.0, 3, (1, 1)).p == 0.0
    assert ratio_of(0.0, 0.01, 3, (1, 1)).p == 1.0


def test_a_change_beyond_all_numbers_has_an_interval() -> None:
    low, high = ratio_of(0.0, 1e6, 3, (1, 1)).interval()
    assert low == 0.0 and 1e300 < high < math.inf


def test_an_interval_of_another_confidence() -> None:
    """Student's t with four degrees of freedom: 2.131847 holds 90 %."""
    low, high = ratio_of(0.2, 0.01, 4, (2, 2)).interval(0.9)
    assert (math.log(low), math.log(high)) == pytest.approx((0.2 - 0.02131847, 0.2 + 0.02131847))


# ---- a curve --------------------------------------------------------------------------------------------


def test_the_example_of_benjamini_and_hochberg() -> None:
    """Their paper of 1995, section 3.2: of fifteen four are rejected at 5 %, by Bonferroni three."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    p += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert convincing(p) == [True] * 4 + [False] * 11
    assert convincing(p[::-1]) == [False] * 11 + [True] * 4
    assert convincing(p, false_alarms=0.002) == [True] + [False] * 14


def test_convincing_at_the_limit() -> None:
    # The limits are 0.0125, 0.025, 0.0375 and 0.05: one below its own takes along all that are smaller.
    assert convincing([0.024, 0.9, 0.02, 0.9]) == [True, False, True, False]
    assert convincing([0.05, 0.9]) == [False, False]
    assert convincing([0.05]) == [True] and convincing([0.0501]) == [False] and convincing([]) == []
