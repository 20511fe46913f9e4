"""The formulas of docs/comparing.md on numbers small enough to work out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from wirespeed.statistics.comparison import (
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

NORMAL_975 = 1.959963984540054
T_975 = {3: 3.182446305, 4: 2.776445105, 6: 2.446911851}
"""Student's t, two-sided 95 %: NIST/SEMATECH e-Handbook, section 1.3.6.7.2, to more digits."""


def bare(*logs: float) -> list[Launch]:
    """Launches without intervals, by the logarithms of their medians."""
    return [Launch(math.exp(log), None, None) for log in logs]


def known(log: float, deviation: float) -> Launch:
    """A launch whose interval is that of a normal distribution with this standard deviation."""
    half = NORMAL_975 * deviation
    return Launch(math.exp(log), math.exp(log - half), math.exp(log + half))


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
        assert Launch(1.0, low, high).variance is None


def test_one_launch_a_side() -> None:
    """expected = 0.01^2 + (0.03^2 + 0.01^2) / 2 = 0.0006, three degrees of freedom, 1/n + 1/m = 2."""
    found = change([known(0.0, 0.03)], [known(0.05, 0.01)])
    assert found and found.launches == (1, 1) and found.freedom == 3
    assert found.log_ratio == pytest.approx(0.05) and found.ratio == pytest.approx(math.exp(0.05))
    assert found.error == pytest.approx(math.sqrt(0.0012))
    half = T_975[3] * math.sqrt(0.0012)
    assert found.interval() == pytest.approx((math.exp(0.05 - half), math.exp(0.05 + half)))
    assert found.p == pytest.approx(CLOSED_FORMS[3](0.05 / math.sqrt(0.0012)))


def test_what_launches_show_is_drawn_towards_what_is_expected() -> None:
    """Sides of two and three: seen = 2 x 0.01^2 + 2 x 0.01^2 + 0.02^2 = 0.0008, three degrees of freedom."""
    old, new = bare(0.0, 0.02), bare(0.1, 0.1, 0.13)
    found = change(old, new)
    # b = 3 x 3 x 0.0001 / 0.0008
    assert found and found.freedom == pytest.approx(1.125 + 3) and found.launches == (2, 3)
    assert found.log_ratio == pytest.approx(0.1)
    variance = (1.125 * 0.0001 + 0.0008) / 4.125
    assert found.error == pytest.approx(math.sqrt(variance * (1 / 2 + 1 / 3)))
    # Where they contradict nothing, what is expected counts as three more launches.
    calm = change(old, new, spread=0.1)
    assert calm and calm.freedom == 6
    assert calm.error == pytest.approx(math.sqrt((3 * 0.01 + 0.0008) / 6 * (1 / 2 + 1 / 3)))


def test_launches_that_agree_count_as_expected() -> None:
    found = change(bare(0.0, 0.0), bare(0.1, 0.1))
    assert found and found.freedom == 5 and found.error == pytest.approx(math.sqrt(3 * 0.0001 / 5))


def test_one_launch_against_several() -> None:
    """Protects a side of one: without an interval it may stand against several, and adds no freedom."""
    found = change(bare(0.0), bare(0.1, 0.1, 0.1))
    assert found and found.freedom == 5
    assert found.error == pytest.approx(math.sqrt(3 * 0.0001 / 5 * (1 + 1 / 3)))
    assert change(bare(0.0, 0.0), []) is None and change([], bare(0.0, 0.0)) is None
    assert change([known(0.0, 0.01)], bare(0.1)) is None


def test_changes_without_doubt() -> None:
    """Protects published figures, which are exact: no division by an error of nothing."""
    assert Change(0.0, 0.0, 3, (1, 1)).p == 1.0
    assert Change(0.1, 0.0, 3, (1, 1)).p == 0.0
    assert Change(0.0, 0.01, 3, (1, 1)).p == 1.0


def test_a_change_beyond_all_numbers_has_an_interval() -> None:
    low, high = Change(0.0, 1e6, 3, (1, 1)).interval()
    assert low == 0.0 and 1e300 < high < math.inf


def test_a_rougher_change_is_the_same_with_a_larger_error() -> None:
    assert Change(0.1, 0.25, 4, (2, 2)).rougher(3) == Change(0.1, 0.75, 4, (2, 2))
    low, high = Change(0.0, 0.01, 4, (2, 2)).rougher(3).interval()
    assert (low, high) == pytest.approx((math.exp(-0.03 * T_975[4]), math.exp(0.03 * T_975[4])))


def test_an_interval_of_another_confidence() -> None:
    """Student's t with four degrees of freedom: 2.131847 holds 90 %."""
    low, high = Change(0.2, 0.01, 4, (2, 2)).interval(0.9)
    assert (math.log(low), math.log(high)) == pytest.approx((0.2 - 0.02131847, 0.2 + 0.02131847))


# ---- a curve --------------------------------------------------------------------------------------------


def test_unrest() -> None:
    """Two a side, 0.03 from their middles: 0.0036 / 2 / 0.0001 = 18; the usual is (1 - 2/18)^3 = 512/729."""
    restless = (bare(-0.03, 0.03), bare(-0.03, 0.03))
    assert unrest([restless] * 5) == pytest.approx(math.sqrt(18 * 729 / 512)) == pytest.approx(5.0625)
    assert unrest([restless] * 5, spread=0.02) == pytest.approx(5.0625 / 2)
    assert unrest([restless] * 4) == 1.0
    # What says nothing does not count: a side without launches, one launch a side.
    assert unrest([restless] * 4 + [(restless[0], []), ([], restless[1]), (bare(0.0), bare(0.0))]) == 1.0
    # Of one and two launches one degree of freedom: 0.0018 / 0.0001 = 18; the usual is (7/9)^3.
    assert unrest([(bare(0.0), restless[1])] * 5) == pytest.approx(math.sqrt(18 * 729 / 343))
    # The middle one speaks; calm ones never make an error smaller.
    calm = (bare(0.0, 0.0), bare(0.0, 0.0))
    assert unrest([restless] * 3 + [calm] * 2) == pytest.approx(5.0625)
    assert unrest([restless] * 2 + [calm] * 3) == 1.0


def test_roughness() -> None:
    """Neighbours 0.1 apart with errors of 0.03 and 0.04: twice the error of a difference, 0.05."""
    jagged = [Change(0.1 * (i % 2), 0.03 + 0.01 * (i % 2), 3, (1, 1)) for i in range(5)]
    # Half of all normal values are within 0.6744898 standard deviations.
    assert roughness(jagged) == pytest.approx(2 / 0.6744897501960817)
    assert roughness(jagged[:4]) == 1.0
    # One without an error borrows its neighbour's; two such neighbours tell nothing.
    exact = [Change(one.log_ratio, one.error * (i % 2), 3, (1, 1)) for i, one in enumerate(jagged)]
    assert roughness(exact) == pytest.approx(2.5 / 0.6744897501960817)
    assert roughness([*exact[:4], *[Change(9.0 * i, 0.0, 3, (1, 1)) for i in range(9)]]) == pytest.approx(
        2.5 / 0.6744897501960817
    )
    assert roughness([Change(0.001 * i, 0.01, 3, (1, 1)) for i in range(9)]) == 1.0


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


# ---- the next launch ------------------------------------------------------------------------------------


def test_where_the_next_launch_is_expected() -> None:
    """0 and 0.01: seen = 0.00005, b = 3, variance (0.0003 + 0.00005) / 4; of one more launch x (1 + 1/2)."""
    half = T_975[4] * math.sqrt(0.00035 / 4 * 1.5)
    expected = (math.exp(0.005 - half), math.exp(0.005 + half))
    assert next_launch(bare(0.0, 0.01), 0.95) == pytest.approx(expected)
    # Never within what was seen already.
    assert next_launch(bare(0.0, 0.01), 0.1) == pytest.approx((1.0, math.exp(0.01)))


def test_what_one_launch_says_of_the_next() -> None:
    assert next_launch(bare(0.0), 0.95) is None
    half = T_975[3] * math.sqrt((0.0001 + 0.0004) * 2)
    found = next_launch([known(0.0, 0.02)], 0.95)
    assert found == pytest.approx((math.exp(-half), math.exp(half)))
    # t x spread x sqrt(2) is ln 100 at 1.0232.
    exact = [Launch(1.0, 1.0, 1.0)]
    assert next_launch(exact, 0.95, spread=1.024) is None
    found = next_launch(exact, 0.95, spread=1.023)
    assert found and 0.01 < found[0] < 0.0101 and 99 < found[1] < 100
