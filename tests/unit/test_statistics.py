"""Medians, intervals, histograms, moments and the stopping rule, against exact values and simulated noise."""

from __future__ import annotations

import math
import random
import statistics
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import captured
from support.examples import examples

from wirespeed.statistics import differences, stopping
from wirespeed.statistics import samples as module
from wirespeed.statistics.differences import PRECISION, median_difference
from wirespeed.statistics.histogram import Histogram
from wirespeed.statistics.samples import COARSE, Samples, median_interval, order_depth
from wirespeed.statistics.slowest import of_the_slowest
from wirespeed.statistics.stopping import MOMENT_S, Stopping, StoppingRule, until_next_moment

times = st.floats(1e-9, 1e3)
batches = st.lists(st.lists(times, min_size=1, max_size=20), min_size=1, max_size=60)


def filled(data: list[list[float]]) -> Samples:
    samples = Samples()
    for batch in data:
        samples.add(batch)
    return samples


# ---- figures against exact ones -------------------------------------------------------------------------


@given(batches)
def test_figures_of_kept_samples_are_exact(data: list[list[float]]) -> None:
    samples, flat = filled(data), sorted(value for batch in data for value in batch)
    seconds = samples.summary()["seconds"]
    assert samples.count == len(flat) and samples.batches == len(data)
    assert seconds["median"] == pytest.approx(statistics.median(flat), rel=1e-12)
    assert (seconds["min"], seconds["max"]) == (flat[0], flat[-1])
    assert seconds["mean"] == pytest.approx(statistics.fmean(flat))
    assert seconds["p99"] == flat[math.ceil(0.99 * len(flat) - 1e-9) - 1]


@given(batches)
def test_the_interval_holds_the_median_and_stays_above_zero(data: list[list[float]]) -> None:
    samples = filled(data)
    interval, precision = samples.interval(), samples.precision()
    if len(data) < 3:
        assert interval is None and precision is None
        return
    assert interval is not None and precision is not None
    low, high = interval
    assert 0 < low <= samples.median() <= high
    # The stopping rule's may be wider: it is not bounded by the batches.
    assert samples.summary()["precision"] == (high - low) / 2 / samples.median() <= precision


def test_a_coarse_clock_is_not_taken_for_certainty() -> None:
    """Protects the interval from a clock's step: equal readings are known to half a step, no better."""
    samples = Samples()
    for _ in range(20):
        samples.add([64e-9] * 5)
    samples.step_s = 32e-9 / 4
    assert samples.interval() == pytest.approx((60e-9, 68e-9))
    assert samples.precision() == pytest.approx(4 / 64)
    rule = StoppingRule(Stopping(), 1e-9, 32e-9, divisor=2)
    rounds, _ = rule.next_batch(1e-6, Samples(), 0.0)
    assert rule.step_s == pytest.approx(32e-9 / rounds / 2)
    assert rule.step_s / 2 / 0.5e-6 <= Stopping().precision / 2


def test_a_clock_that_shows_zero_gives_no_division_by_zero() -> None:
    samples = filled([[0.0, 0.0]] * 12)
    assert samples.median() == 0 and samples.precision() is None
    assert sum(samples.summary()["histogram"]["counts"]) == 24


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf])
def test_what_is_no_time_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="a time in seconds"):
        Samples().add([1e-6, bad, 2e-6])


# ---- memory ---------------------------------------------------------------------------------------------


def test_more_samples_than_are_kept_stay_exact_to_a_fine_bin() -> None:
    rng = np.random.default_rng(7)
    data = 1e-6 * np.exp(0.3 * rng.standard_normal((160, 2_500)))
    samples = filled(data.tolist())
    flat = np.sort(data, axis=None)
    assert samples.count == flat.size > module.KEPT_SAMPLES and len(samples._kept) <= module.KEPT_SAMPLES
    width = 2 ** (1 / module.FINE_BINS_PER_OCTAVE) - 1
    assert width < 1.7e-4
    assert samples.median() == pytest.approx(float(np.median(flat)), rel=width)
    assert samples.p99() == pytest.approx(float(flat[math.ceil(0.99 * flat.size) - 1]), rel=width)
    seconds = samples.summary()["seconds"]
    assert (seconds["min"], seconds["max"]) == (flat[0], flat[-1])
    assert seconds["mean"] == pytest.approx(float(flat.mean()))
    whole = Histogram()
    whole.add(flat.tolist())
    assert samples.histogram.counts == whole.counts


def test_batches_are_bounded_and_keep_their_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    data = [[draw.expovariate(1.0)] for _ in range(5_000)]
    whole = filled(data).interval()
    monkeypatch.setattr(module, "KEPT_BATCHES", 299)
    samples = filled(data)
    assert samples.batches == 5_000 and len(samples._medians) <= 299
    joined = samples.interval()
    assert whole and joined
    # Exponential: the true median is ln 2, the mean 1; joining must not pull towards the mean.
    for low, high in (whole, joined):
        assert low < math.log(2) < high and high - low < 0.4


# ---- intervals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(6, 40))
def test_order_statistics_leave_out_as_many_as_they_may(n: int) -> None:
    def missed(depth: int) -> float:
        return 2 * sum(math.comb(n, k) for k in range(depth + 1)) / float(2**n)

    depth = order_depth(n)
    assert missed(depth) <= 0.05 < missed(depth + 1)


@given(st.lists(st.floats(1e-6, 1e-3), min_size=24, max_size=80))
def test_no_wide_interval_reaches_beyond_all_batches(values: list[float]) -> None:
    """Protects from "12 us" below the fastest sample, 15 us: neighbours had much in common."""
    middle = statistics.median(values)
    low, high = median_interval(sorted(values), middle, 1.35) or (0.0, 0.0)
    assert low >= min(min(values), middle / math.exp(COARSE)) * (1 - 1e-9)
    assert high <= max(max(values), middle * math.exp(COARSE)) * (1 + 1e-9)


# ---- the stopping rule ----------------------------------------------------------------------------------


def test_a_fixed_count_is_one_sample_of_all_loops() -> None:
    rule, samples = StoppingRule(Stopping(loops=50, warmup=5), 25e-9, 1e-9), Samples()
    assert rule.decide(samples, 0.0) is None
    assert rule.next_batch(1e-3, samples, 0.0) == (50, 1) and rule.iterations_per_sample == 50
    samples.add([1e-3])
    assert rule.decide(samples, 9.0) == "fixed"
    assert samples.summary()["seconds"]["low"] is None


@examples(300)
@given(
    iteration_s=st.floats(1e-8, 20),
    cost=st.floats(1e-9, 1e-6),
    resolution=st.floats(1e-10, 1e-5),
    max_time=st.floats(1e-3, 100),
    precision=st.floats(1e-4, 0.5),
    elapsed=st.floats(0, 200),
    divisor=st.sampled_from([1.0, 2.0]),
)
def test_batches_keep_their_promises(
    iteration_s: float,
    cost: float,
    resolution: float,
    max_time: float,
    precision: float,
    elapsed: float,
    divisor: float,
) -> None:
    rule = StoppingRule(Stopping(precision=precision, max_time=max_time), cost, resolution, divisor)
    max_time *= stopping.EXTENSION
    samples = Samples()
    rounds, count = rule.next_batch(iteration_s, samples, elapsed)
    sample_s = rounds * iteration_s
    assert sample_s >= 100 * cost * (1 - 1e-9) and sample_s >= 50 * resolution * (1 - 1e-9)
    # What the clock can tell at this precision, but no sample so long that it takes the time of ten.
    assert sample_s >= min(resolution / precision, max_time / stopping.FEWEST_FOR_PRECISION) * (1 - 1e-9)
    assert 1 <= count <= stopping.MAX_SAMPLES_A_BATCH
    if rule.long_samples:
        assert sample_s >= stopping.BATCH_S and count <= stopping.LONG_RUN
    else:
        # Half a batch more at most: the last one is no stub.
        whole = max(stopping.BATCH_S, elapsed * stopping.BATCH_SHARE)
        assert (count - 1) * sample_s <= max(max_time - elapsed, whole / 2) * (1 + 1e-9)
        assert (count - 1) * sample_s <= max(stopping.BATCH_S, elapsed * stopping.BATCH_SHARE) * (1 + 1e-9)
    if sample_s <= 2.4e-4 and max_time > 0.1 and elapsed < max_time - 0.01:
        assert count >= 20
    samples.add([iteration_s / divisor / 3] * count)
    assert rule.next_batch(iteration_s, samples, elapsed)[0] == rounds == rule.iterations_per_sample


def test_the_last_batch_is_no_stub() -> None:
    """Protects an interval from one sample of 44 us among batches of 16 us: the last batch, to be checked."""
    rule, samples = StoppingRule(Stopping(), 2.5e-8, 1e-9), Samples()
    _, whole = rule.next_batch(2e-5, samples, 0.0, 31)
    samples.add([2e-5] * whole)
    for elapsed in (0.14999, 0.15, 0.2):
        assert whole / 2 - 1 <= rule.next_batch(2e-5, samples, elapsed, 31)[1] <= whole


def test_sizes_that_take_turns_have_one_long_sample_at_a_time() -> None:
    """Protects from 20 batches of two, whose interval says ±8 % where no sample is 6 % off."""
    rule, samples = StoppingRule(Stopping(), 2.6e-6, 1e-9), Samples()
    _, together = rule.next_batch(12e-6, samples, 0.0, 9)
    _, alone = rule.next_batch(12e-6, samples, 0.0)
    assert (together, alone) == (1, 4)
    rule = StoppingRule(Stopping(), 2.6e-6, 1e-9)
    assert rule.next_batch(1.4e-3, samples, 0.0, 9) == (1, 2), "of one iteration, as long as the untimed one"


@pytest.mark.parametrize(
    ("noise", "left_s", "stops_s"),
    [
        # Nothing is left, it would not do, it does, and more is not needed.
        (0.6, 0.0, (0.0, 0.2)),
        (0.6, 0.1, (0.0, 0.2)),
        (0.2, 9.0, (0.2, 9.0)),
        (0.05, 9.0, (0.0, 0.2)),
    ],
)
def test_a_coarse_figure_takes_what_time_is_left(
    noise: float, left_s: float, stops_s: tuple[float, float]
) -> None:
    """Protects a run's budget: it goes where it makes a figure precise to 5 %, and nowhere else."""
    rng, elapsed = np.random.default_rng(5), 0.0
    rule, samples = StoppingRule(Stopping(), 25e-9, 1e-9, more_s=lambda: left_s - elapsed), Samples()
    while (reason := rule.decide(samples, elapsed)) is None:
        _, count = rule.next_batch(1e-3, samples, elapsed)
        # Batches differ: neighbours within one are alike.
        samples.add((1e-3 * np.exp(noise * rng.standard_normal()) * np.ones(count)).tolist())
        elapsed += count * samples.latest
    assert reason == "max-time" and stops_s[0] <= elapsed <= stops_s[1]
    if left_s > 1:
        assert (samples.precision() or 1.0) <= COARSE


@pytest.mark.parametrize(("left_s", "most_s"), [(None, 0.15), (0.4, 0.15), (0.0, 0.06), (-1.0, 0.06)])
def test_nothing_takes_longer_once_the_budget_is_spent(left_s: float | None, most_s: float) -> None:
    """Protects the run's length from figures that take three times --max-time each, because it helps them."""
    rng, elapsed = np.random.default_rng(1), 0.0
    more_s = None if left_s is None else lambda: left_s - elapsed
    rule, samples = StoppingRule(Stopping(), 25e-9, 1e-9, more_s=more_s), Samples()
    while rule.decide(samples, elapsed) is None:
        _, count = rule.next_batch(1e-3, samples, elapsed)
        samples.add((1e-3 * np.exp(0.008 * rng.standard_normal()) * np.ones(count)).tolist())
        elapsed += count * samples.latest
    # 27 batches may end it.
    assert 0.75 * most_s <= elapsed <= 1.05 * most_s


def test_a_late_figure_ends_with_the_fewest_batches() -> None:
    """Protects the bound of a command: a figure goes on neither for its precision, nor for --max-time."""
    late = [False]
    rule, samples = (
        StoppingRule(Stopping(), 25e-9, 1e-9, more_s=lambda: 60.0, late=lambda: late[0]),
        Samples(),
    )
    assert rule.decide(samples, 0.0) is None
    late[0] = True
    for batch in range(3):
        assert rule.decide(samples, 0.01 * batch) is None
        samples.add([1e-3 * (1 + batch)] * 2)
    assert rule.decide(samples, 0.03) == "max-time"


def test_a_rank_imports_little() -> None:
    script = (
        "import sys, wirespeed.statistics.samples; print({'numpy', 'json', 'decimal'} & set(sys.modules))"
    )
    done = captured([sys.executable, "-c", script], ok=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("period", [MOMENT_S, MOMENT_S / 2, 2 * MOMENT_S])
@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.75])
def test_a_disturbance_at_a_fixed_rate_is_in_its_share_of_the_batches(period: float, phase: float) -> None:
    """One tenth of each period is disturbed; with batches every 25 ms that is in all of them or in none."""
    dice, start, disturbed = random.Random(1), 0.0, 0
    for _ in range(1000):
        disturbed += (start / period + phase) % 1 < 0.1
        start += until_next_moment(dice)
    assert 60 <= disturbed <= 140


def test_moments_are_as_far_apart_as_said() -> None:
    dice = random.Random(2)
    apart = [until_next_moment(dice) for _ in range(1000)]
    assert sum(apart) / len(apart) == pytest.approx(MOMENT_S, rel=0.03)
    assert min(apart) > 0.4 * MOMENT_S and max(apart) < 1.6 * MOMENT_S


@pytest.mark.parametrize(("old", "new"), [(1, 1), (1, 4), (7, 7), (12, 31), (40, 40)])
def test_same_without_sorting_all(old: int, new: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(old * new)
    for digits in (1, 9):  # many equal values, and none
        sides = [[round(chance.gauss(mean, 1), digits) for _ in range(n)] for mean, n in ((0, old), (2, new))]
        monkeypatch.setattr(differences, "MOST_SORTED", 10**9)
        exact = median_difference(*sides)
        monkeypatch.setattr(differences, "MOST_SORTED", 0)
        assert median_difference(*sides) == pytest.approx(exact, abs=10 * PRECISION)


def test_by_how_much_the_lower_end_is_lower() -> None:
    """z(0.025 / 256) / z(0.025) = 3.7247 / 1.9600; of four batches t, 22.3808 / 3.18245."""
    summary: Any = {"seconds": {"median": 1.0, "low": 0.99, "high": 1.01}, "batches": 14, "precision": 0.01}
    bare: Any = {"seconds": {"median": 1.0, "low": None, "high": None}, "batches": 2, "precision": None}
    assert of_the_slowest(summary, 1) == summary and of_the_slowest(bare, 256) == bare
    found: Any = of_the_slowest(summary, 256)
    assert found["seconds"]["low"] == pytest.approx(0.99 ** (3.7247 / 1.95996), rel=1e-5)
    few: Any = of_the_slowest(summary | {"batches": 4}, 256)
    assert few["seconds"]["low"] == pytest.approx(0.99 ** (22.3808 / 3.18245), rel=1e-5)
    assert found["seconds"]["high"] == 1.01
    assert found["precision"] == pytest.approx((1.01 - found["seconds"]["low"]) / 2)
