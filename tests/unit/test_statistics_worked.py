"""Intervals and the stopping rule on numbers worked out by hand: docs/measuring.md has the rules."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from wirespeed.statistics import samples as module
from wirespeed.statistics.samples import Samples, difference_interval, median_interval, ratio_interval
from wirespeed.statistics.stopping import Stopping, StoppingRule

DOCS = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text()


def filled(*batches: list[float]) -> Samples:
    samples = Samples()
    for batch in batches:
        samples.add(batch)
    return samples


# ---- the interval of a median ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logs", "t"),
    [
        ([0.0, 0.1, -0.1], 4.302652730),
        ([0.1, -0.1, 0.1, -0.1], 3.182446305),
        ([0.1, -0.1, 0.0, 0.1, -0.1], 2.776445105),
    ],
)
def test_few_batches_have_students_interval(logs: list[float], t: float) -> None:
    """mean +- t s / sqrt(n) of the logarithms; t as in the NIST/SEMATECH e-Handbook, section 1.3.6.7.2."""
    n = len(logs)
    deviation = math.sqrt(sum(log * log for log in logs) / (n - 1))
    half = t * deviation / math.sqrt(n)
    found = median_interval([math.exp(log) for log in logs], 1.0)
    assert found == pytest.approx((math.exp(-half), math.exp(half)))


def test_the_interval_is_around_the_mean_and_reaches_the_median() -> None:
    """Logarithms 0.1, 0.2, 0.3: mean 0.2, s = 0.1; the median of all samples may be elsewhere."""
    half = 4.302652730 * 0.1 / math.sqrt(3)
    batches = [math.exp(log) for log in (0.1, 0.2, 0.3)]
    ends = (math.exp(0.2 - half), math.exp(0.2 + half))
    assert median_interval(batches, math.exp(0.25)) == pytest.approx(ends)
    assert median_interval([1.0] * 3, 2.0) == (1.0, 2.0)
    assert median_interval([1.0] * 3, 0.5) == (0.5, 1.0)
    assert median_interval([1.0] * 2, 1.0) is None


@pytest.mark.parametrize(
    ("order", "correlation"),
    [
        # Ranks from the middle -0.5, -2.5, -1.5, 2.5, 0.5, 1.5:
        # 3.25 / 17.5 = 13/70; + (1 + 52/70) / 6 = 10/21.
        ((3, 1, 2, 6, 4, 5), 10 / 21),
        # Ties share a rank, -2, 0 or 2: 4 / 16; + (1 + 1) / 6 = 7/12.
        ((1, 1, 3, 3, 2, 2), 7 / 12),
        # 8.75 / 17.5 = 1/2; + 3 / 6 = 1, and 0.9 is the most.
        ((1, 2, 3, 4, 5, 6), 0.9),
        # Neighbours unlike: nothing in common, and never less.
        ((1, 6, 2, 5, 3, 4), 0.0),
    ],
)
def test_what_neighbours_have_in_common_widens(order: tuple[int, ...], correlation: float) -> None:
    """Six batches go from the smallest to the largest, times sqrt((1 + c) / (1 - c))."""
    middle = (min(order) + max(order)) / 2
    logs = [0.01 * (place - middle) for place in order]
    half = max(logs) * math.sqrt((1 + correlation) / (1 - correlation))
    found = median_interval([math.exp(log) for log in logs], 1.0)
    assert found == pytest.approx((math.exp(-half), math.exp(half)), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "left_out", "beyond"),
    [
        # Half as far again from the middle, in ranks: 2.5 -> 3.75, and there are no more.
        (6, 0, 3.75 / 2.5),
        # Number 3 is 4.5 ranks away, number 1 is 6.5.
        (14, 0, 6.75 / 6.5),
        # Number 6 is 4.5 ranks away, number 4 is 6.5.
        (20, 3, 6.75 / 6.5),
    ],
)
def test_a_launch_reaches_further_among_its_batches(n: int, left_out: int, beyond: float) -> None:
    """Protects from a second speed that a few batches have: their place counts, and not their distance."""
    places = [place for pair in zip(range(n), reversed(range(n)), strict=True) for place in pair][:n]
    logs = [
        math.expm1(abs(place - (n - 1) / 2)) * math.copysign(0.01, place - n / 2 + 0.25) for place in places
    ]
    end = sorted(logs)[n - 1 - left_out] * beyond
    found = median_interval([math.exp(log) for log in logs], 1.0, 1.5)
    assert found == pytest.approx((math.exp(-end), math.exp(end)), rel=1e-12)


def test_a_batch_of_nothing_counts_as_a_picosecond() -> None:
    found = median_interval([1e-6, 1e-6, 0.0, 1e-6, 1e-6, 1e-6], 1e-6)
    assert found == pytest.approx((1e-12, 1e-6))


@pytest.mark.parametrize(
    ("n", "medians"),
    [
        (20, list(range(20))),
        # 21 are seven groups of three; of 22 the first stays out; of 23 two more go to the last group.
        (21, [1, 4, 7, 10, 13, 16, 19]),
        (22, [2, 5, 8, 11, 14, 17, 20]),
        (23, [1, 4, 7, 10, 13, 16, 20]),
        # 62 make twenty groups of three, 63 twelve of five, and what is left over is three: one out, two in.
        (62, [*range(1, 58, 3), 59]),
        (63, [*range(3, 58, 5), 59]),
    ],
)
def test_groups_of_neighbours(n: int, medians: list[int]) -> None:
    assert list(module._grouped([float(i) for i in range(n)])) == medians


def test_a_clock_step_cannot_take_an_interval_below_zero() -> None:
    samples = filled([1e-9], [1e-9], [1e-9])
    assert samples.interval() == (1e-9, 1e-9)
    samples.step_s = 4e-9
    assert samples.interval() == pytest.approx((0.0, 3e-9))


def wider(interval: tuple[float, float] | None, median: float) -> tuple[float, float]:
    """An interval as a launch has it: wider by 35 %, on the logarithmic scale."""
    assert interval
    return interval[0] ** 1.35 / median**0.35, interval[1] ** 1.35 / median**0.35


def test_many_batches_become_medians_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects memory, and who is left out: of ten the last one."""
    monkeypatch.setattr(module, "KEPT_BATCHES", 8)
    nine = filled(*([float(i)] for i in (1, 3, 2, 4, 5, 6, 9, 8, 7)))
    assert nine.interval() == pytest.approx(wider(median_interval([2.0, 5.0, 8.0], 5.0), 5.0))
    monkeypatch.setattr(module, "KEPT_BATCHES", 9)
    ten = filled(*([float(i)] for i in (1, 3, 2, 4, 5, 6, 9, 8, 7, 10)))
    assert ten.interval() == pytest.approx(wider(median_interval([2.0, 5.0, 8.0], 5.5), 5.5))


def test_so_many_batches_are_kept_as_they_are() -> None:
    samples = filled(*([1.0] for _ in range(9_999)))
    assert len(samples._medians) == 9_999
    samples.add([1.0])
    assert len(samples._medians) == 3_333 and samples.batches == 10_000


def test_a_ratio_adds_distances_as_squares() -> None:
    """Logarithms 0.03 down and 0.06 up, 0.08 down and 0.04 up: 3, 4 make 5, and 6, 8 make 10."""
    one = (2.0, 2 * math.exp(-0.03), 2 * math.exp(0.06))
    other = (4.0, 4 * math.exp(-0.08), 4 * math.exp(0.04))
    ends = (0.5, 0.5 * math.exp(-0.05), 0.5 * math.exp(0.10))
    assert ratio_interval(one, other) == pytest.approx(ends)


def test_a_difference_adds_distances_as_squares() -> None:
    """3 down and 6 up, 8 down and 4 up: 3, 4 make 5, and 6, 8 make 10."""
    assert difference_interval((20.0, 17.0, 26.0), (50.0, 42.0, 54.0)) == pytest.approx((-30.0, -35.0, -20.0))


# ---- all samples ----------------------------------------------------------------------------------------


def test_a_summary() -> None:
    samples = filled([3.0, 1.0], [2.0, 6.0])
    found = samples.summary()
    assert samples.latest == 4.0
    assert found["seconds"] == {
        "median": 2.5,
        "low": None,
        "high": None,
        "min": 1.0,
        "max": 6.0,
        "p99": 6.0,
        "mean": 3.0,
        "speeds": None,
        "changed": None,
    }
    assert (found["confidence"], found["precision"]) == (0.95, None)
    assert (found["samples"], found["batches"]) == (4, 2)
    assert sum(found["histogram"]["counts"]) == 4
    samples.add([2.5])
    more: Any = samples.summary()
    assert more["seconds"]["low"] < 2.5 < more["seconds"]["high"]
    assert more["precision"] == samples.precision()
    assert (Samples().latest, Samples().step_s) == (0.0, 0.0)


def test_figures_that_nobody_asked_for_before() -> None:
    """Protects each by itself: the samples have to be in order for the 99th percentile, too."""
    assert filled([3.0], [1.0]).p99() == 3.0
    assert Samples().precision() is None
    with pytest.raises(ValueError, match="no samples"):
        Samples().p99()


@pytest.mark.parametrize("count", [3, 10])
def test_a_mean_lies_among_its_samples(count: int) -> None:
    """Protects from rounding: 0.1 three times, over three, is more than 0.1 in binary; ten times less."""
    samples = filled(*([0.1] for _ in range(count)))
    assert samples.summary()["seconds"]["mean"] == 0.1


def test_as_many_samples_as_the_documentation_says_are_exact() -> None:
    assert f"Up to {module.KEPT_SAMPLES} samples, all of this is exact" in DOCS
    half = module.KEPT_SAMPLES // 2
    samples = filled([1.0] * half, [3.0] * half)
    assert samples.median() == 2.0
    samples.add([2.0])
    # Now its bin is known, which is 0.017 % wide.
    assert samples.median() == pytest.approx(2.0, rel=2e-4) and samples.median() != 2.0


@pytest.mark.parametrize("share_of_bin", [0.01, 0.99])
def test_equal_samples_stay_equal_in_a_fine_histogram(share_of_bin: float) -> None:
    """Protects from a median below the smallest sample, or above the largest."""
    value = 1e-6 * 2 ** (share_of_bin / module.FINE_BINS_PER_OCTAVE)
    samples = filled(*([value] * (module.KEPT_SAMPLES // 2) for _ in range(3)))
    assert samples.median() == samples.p99() == value


def test_samples_after_those_that_are_kept() -> None:
    """Protects the later ones: they count as the earlier ones do, whoever asks in between."""
    samples = filled([1e-6] * (module.KEPT_SAMPLES + 1))
    for _ in range(2):
        samples.add([4e-6] * module.KEPT_SAMPLES)
    assert samples.median() == pytest.approx(4e-6, rel=2e-4)
    samples.add([4e-6, 2e-6])
    assert samples.histogram.total == samples.count == 3 * module.KEPT_SAMPLES + 3
    assert samples.median() == pytest.approx(4e-6, rel=2e-4)
    assert samples.histogram.total == samples.count


# ---- the stopping rule ----------------------------------------------------------------------------------


class Seen:
    """Samples so far, as a rule asks for them."""

    def __init__(self, batches: int = 0, precision: float | None = None, latest: float = 1e-3) -> None:
        self.count = self.batches = batches
        self.latest, self._precision = latest, precision

    def precision(self) -> float | None:
        return self._precision


NONE = Seen()


def first_batch(
    stopping: Stopping, cost_s: float, resolution_s: float, iteration_s: float, elapsed_s: float = 0.0
) -> tuple[int, int]:
    return StoppingRule(stopping, cost_s, resolution_s).next_batch(iteration_s, NONE, elapsed_s)


def test_a_sample_is_500_clock_readings_long() -> None:
    """12.5 us with a clock that takes 25 ns: 13 rounds of 1 us; and 5 ms hold 385 of them."""
    assert first_batch(Stopping(), 25e-9, 1e-9, 1e-6) == (13, 385)
    assert first_batch(Stopping(), 25e-9, 1e-9, 12.51e-6)[0] == 1


def test_a_sample_is_50_clock_steps_long() -> None:
    """50 us with steps of 1 us: 5 rounds of 11 us; and 5 ms hold 91 of them."""
    assert first_batch(Stopping(precision=0.5), 1e-9, 1e-6, 11e-6) == (5, 91)
    assert first_batch(Stopping(precision=0.5), 1e-9, 1e-6, 50.5e-6)[0] == 1


def test_a_sample_is_as_long_as_the_precision_needs() -> None:
    """2 x 1 us / 1 % = 200 us: 19 rounds of 11 us. But never longer than a 24th of the time: 6.25 ms."""
    assert first_batch(Stopping(), 1e-9, 1e-6, 11e-6) == (19, 24)
    assert first_batch(Stopping(precision=1e-4), 1e-9, 1e-6, 1e-3) == (7, 4)


def test_a_batch_is_5_ms_long() -> None:
    assert first_batch(Stopping(), 25e-9, 1e-9, 30e-6) == (1, 167)
    # A 27th of the longest time where that is less, a thousandth of what has passed where that is more.
    assert first_batch(Stopping(max_time=0.024 / 3), 25e-9, 1e-9, 30e-6) == (1, 30)
    assert first_batch(Stopping(max_time=100), 25e-9, 1e-9, 30e-6, elapsed_s=10) == (1, 333)
    assert first_batch(Stopping(max_time=100), 25e-9, 1e-9, 30e-6, elapsed_s=4) == (1, 167)
    # Past the end by half of it at most; three samples in all of long ones.
    assert first_batch(Stopping(), 25e-9, 1e-9, 30e-6, elapsed_s=0.147) == (1, 100)
    assert first_batch(Stopping(), 25e-9, 1e-9, 30e-6, elapsed_s=0.14905) == (1, 83)
    assert first_batch(Stopping(), 25e-9, 1e-9, 30e-6, elapsed_s=0.2) == (1, 83)
    assert first_batch(Stopping(), 25e-9, 1e-9, 1.0) == (1, 3)


@pytest.mark.parametrize(
    ("batches", "budget_s", "left_behind", "ends"),
    [
        # A lone size has all its time; so has one whose budget lasts, or that has seen too little.
        *((30, None, False, False), (30, None, True, True)),
        *((30, 60.0, True, False), (26, None, True, False)),
    ],
)
def test_a_figure_that_is_left_behind_ends(
    batches: int, budget_s: float | None, left_behind: bool, ends: bool
) -> None:
    """Protects a survey from waiting for one size; and nobody else's figure from less time."""
    more_s = None if budget_s is None else lambda: budget_s
    rule = StoppingRule(Stopping(), 25e-9, 1e-9, more_s=more_s)
    rule.left_behind = left_behind
    assert rule.decide(Seen(batches, 0.013), 0.06) == ("max-time" if ends else None)


def test_there_are_never_too_many() -> None:
    """100,000 samples in a batch, 100 million rounds in a sample, whatever the clock shows."""
    assert first_batch(Stopping(max_time=1000), 1e-9, 1e-12, 1e-6, elapsed_s=500) == (1, 100_000)
    assert first_batch(Stopping(), 1e-6, 1e-9, 0.0)[0] == 100_000_000
    assert StoppingRule(Stopping(), 1e-6, 1e-12).calibration_iterations(0.0) == 100_000_000


def test_an_untimed_run_of_a_millisecond() -> None:
    """Where a round is shorter than ten samples of 12.5 us."""
    rule = StoppingRule(Stopping(), 25e-9, 1e-9)
    assert rule.calibration_iterations(124e-6) == 8 and rule.calibration_iterations(126e-6) == 0
    # A clock with steps of 1 us shows a shorter round as nothing, and 1,000 of them as 1 ms at most.
    assert StoppingRule(Stopping(), 25e-9, 1e-6).calibration_iterations(0.0) == 1_000
    # Ten samples of 500 us are longer than a millisecond: one round then.
    assert StoppingRule(Stopping(), 1e-6, 1e-9).calibration_iterations(3e-3) == 1


def test_the_first_look_comes_after_24_batches_the_next_after_36() -> None:
    rule = StoppingRule(Stopping(), 25e-9, 1e-9)
    looks = []
    for batches in range(1, 60):
        seen = Seen(batches, precision=0.02)
        if rule.due(seen, 0.04):
            looks.append(batches)
        assert rule.decide(seen, 0.04) is None
    # 24 x 1.5 = 36, 36 x 1.5 = 54.
    assert looks == [24, 36, 54]


@pytest.mark.parametrize(
    ("batches", "precision", "elapsed", "why"),
    [
        (23, 0.0, 0.1, None),
        # Fewer than 54 batches must be narrower: 1 % x sqrt(24 / 54), sqrt(36 / 54).
        (24, 0.00666, 0.1, "precision"),
        (24, 0.00667, 0.1, None),
        (36, 0.00816, 0.1, "precision"),
        (36, 0.00817, 0.1, None),
        (54, 0.01, 0.1, "precision"),
        (54, 0.0101, 0.1, None),
        (24, None, 0.1, None),
        (3, 0.01, 0.151, "precision"),
        (3, 0.0101, 0.151, "max-time"),
        (3, None, 0.151, "max-time"),
        (3, 0.01, 0.149, None),
        (2, 0.01, 0.151, None),
        # Three times as long makes an interval 1.7 times as narrow.
        (27, 0.0172, 0.051, "max-time"),
        (27, 0.0171, 0.051, None),
        (27, 0.0172, 0.049, None),
        (26, 0.0172, 0.051, None),
    ],
)
def test_when_to_stop(batches: int, precision: float | None, elapsed: float, why: str | None) -> None:
    rule, seen = StoppingRule(Stopping(), 25e-9, 1e-9), Seen(batches, precision)
    rule.next_batch(1e-3, seen, elapsed)
    assert rule.decide(seen, elapsed) == why


@pytest.mark.parametrize(("seconds", "batches"), [(5.0, 3), (5.1, 1)])
def test_rounds_of_more_than_five_seconds_need_not_be_repeated(seconds: float, batches: int) -> None:
    """Halves of round trips: a sample is half of a round."""
    rule = StoppingRule(Stopping(), 25e-9, 1e-9, divisor=2.0)
    for done in range(batches + 1):
        seen = Seen(done, latest=seconds / 2)
        rule.next_batch(seconds, seen, 60.0)
        assert rule.decide(seen, 60.0) == ("max-time" if done == batches else None)
        assert rule.due(seen, 60.0) == (done == batches)


def test_a_fixed_count_never_looks_at_the_precision() -> None:
    rule = StoppingRule(Stopping(loops=7), 25e-9, 1e-9)
    assert not rule.due(Seen(99, 0.0), 99.0) and rule.calibration_iterations(1e-9) == 0


def test_a_clock_step_is_shared_by_the_rounds_of_a_sample() -> None:
    rule = StoppingRule(Stopping(), 25e-9, 1e-9, divisor=2.0)
    assert rule.step_s == pytest.approx(0.5e-9)
    assert rule.next_batch(1e-6, NONE, 0.0)[0] == 13 == rule.iterations_per_sample
    assert rule.step_s == pytest.approx(1e-9 / 13 / 2)
    # Halves again where nobody says otherwise: none.
    assert StoppingRule(Stopping(), 25e-9, 1e-9).step_s == 1e-9
