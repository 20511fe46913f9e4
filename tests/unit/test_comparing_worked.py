"""The formulas of docs/comparing.md on numbers small enough to work out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from wirespeed.judge.model import Change, LaunchMedian, Prior
from wirespeed.judge.model import change as change_with
from wirespeed.statistics.student import convincing, student_point, student_tail

NORMAL_975 = 1.959963984540054
T_975 = {3: 3.182446305, 4: 2.776445105, 6: 2.446911851}
"""Student's t, two-sided 95 %: NIST/SEMATECH e-Handbook, section 1.3.6.7.2, to more digits."""


def change(old: list[LaunchMedian], new: list[LaunchMedian], spread: float | None = None) -> Change | None:
    return change_with(old, new, Prior(0.05, spread))


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
