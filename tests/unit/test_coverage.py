"""Do 95 % intervals contain the true median, under noise that is heavy-tailed, skewed, slow?

Each model draws many iterations of 0.25 ms (20 per batch). The stopping rule runs on them as in a rank, and
the interval either contains the true median or not. docs/measuring.md has a table of how often it does; the
tests compare it with the code, in both directions, as closely as so many runs can tell.
COVERAGE_RUNS=2000 prints the table's figures.
"""

from __future__ import annotations

import math
import os
import re
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wirespeed.rank.turns import AT_ONCE
from wirespeed.statistics.samples import Samples, median_interval
from wirespeed.statistics.stopping import Stopping, StoppingRule

Floats = NDArray[np.float64]

ITERATION_S = 2.5e-4
BATCH = 20
MOST = 85 * BATCH
RUNS = int(os.environ.get("COVERAGE_RUNS", "1000"))


def slow(rng: np.random.Generator, rows: int, iterations: float) -> Floats:
    """Gaussian noise with a correlation time of `iterations` (an autoregressive process of order one)."""
    keep = math.exp(-1 / iterations)
    fresh = rng.standard_normal((rows, MOST)) * math.sqrt(1 - keep * keep)
    fresh[:, 0] = rng.standard_normal(rows)
    for i in range(1, MOST):
        fresh[:, i] += keep * fresh[:, i - 1]
    return fresh


def switching(rng: np.random.Generator, rows: int, dwell: float) -> Floats:
    """0 or 1, changing about every `dwell` iterations."""
    flips = np.cumsum(rng.random((rows, MOST)) < 1 / dwell, axis=1) + rng.integers(0, 2, (rows, 1))
    return (flips % 2).astype(np.float64)


def fast(rng: np.random.Generator, rows: int) -> Floats:
    return rng.standard_normal((rows, MOST))


def slow_and_fast(share: float, iterations: float, rng: np.random.Generator, rows: int) -> Floats:
    return np.exp(share * slow(rng, rows, iterations) + 0.05 * fast(rng, rows))


def late(rng: np.random.Generator, rows: int) -> Floats:
    """One iteration in twenty is late, now and then by orders of magnitude (Pareto, no finite variance)."""
    return np.where(rng.random((rows, MOST)) < 0.05, rng.pareto(1.2, (rows, MOST)), 0.0)


Model = Callable[[np.random.Generator, int], Floats]
MODELS: dict[str, Model] = {
    "independent, lognormal 5 %": lambda r, n: np.exp(0.05 * fast(r, n)),
    "independent, lognormal 10 %": lambda r, n: np.exp(0.1 * fast(r, n)),
    "the same, and 5 % of iterations late, some by orders of magnitude": (
        lambda r, n: np.exp(0.1 * fast(r, n)) + late(r, n)
    ),
    "independent, exponential delays of 10 %": lambda r, n: 1 + r.exponential(0.1, (n, MOST)),
    "slow: 3 %, correlation time 2.5 ms; and 5 % fast": partial(slow_and_fast, 0.03, 10),
    "slow: 3 %, correlation time 5 ms; and 5 % fast": partial(slow_and_fast, 0.03, 20),
    "slow: 3 %, correlation time 10 ms; and 5 % fast": partial(slow_and_fast, 0.03, 40),
    "slow: 2 %, correlation time 20 ms; and 5 % fast": partial(slow_and_fast, 0.02, 80),
    "slow: 1 %, correlation time 20 ms; and 5 % fast": partial(slow_and_fast, 0.01, 80),
    "two speeds, 5 % apart, changing every 5 ms": (
        lambda r, n: 1 + 0.05 * switching(r, n, 20) + 0.03 * fast(r, n)
    ),
}
FEW = {f"{count} long iterations with exponential delays": count for count in (3, 4, 5, 6, 12)}


def documented() -> dict[str, tuple[float, float | None, float | None]]:
    """The table of docs/measuring.md: by noise, how often the interval holds, how often precision stops, and
    how often it holds where five sizes take turns."""
    text = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (\d+) % \| (?:(\d+) % )?\| (?:(\d+) % )?\|$", text, re.MULTILINE)
    return {
        name: (int(held) / 100, int(early) / 100 if early else None, int(turns) / 100 if turns else None)
        for name, held, early, turns in rows
    }


def agrees(count: int, runs: int, share: float) -> bool:
    """Is `count` of `runs` what a share, written in whole percent, leads to by chance (three sigma)?"""
    return abs(count / runs - share) <= 0.005 + 3 * math.sqrt(share * (1 - share) / runs)


def test_every_row_is_simulated() -> None:
    """Protects the table from figures that no simulation confirms."""
    assert set(documented()) == {*MODELS, *FEW}


def sampled(
    iterations: Floats, stopping: Stopping, iteration_s: float, turns: int = 1
) -> tuple[Samples, str, float]:
    """Runs the rule on one row of iterations, as a rank does; each value is an iteration over iteration_s.

    `turns`: how many sizes take turns, of whose batches one in so many is this one's.
    """
    rule, samples = StoppingRule(stopping, 25e-9, 1e-9), Samples()
    at, elapsed = 0, 0.0
    while (reason := rule.decide(samples, elapsed)) is None:
        per_sample, count = rule.next_batch(iteration_s, samples, elapsed, turns)
        assert per_sample == 1
        batch = iterations[at : at + count] * iteration_s
        assert len(batch) == count
        samples.add(batch.tolist())
        at, elapsed = at + turns * count, elapsed + float(batch.sum())
    return samples, reason, elapsed


@pytest.mark.parametrize("name", MODELS)
def test_coverage(name: str) -> None:
    """Protects the 95 % of every interval: the table's figure, neither less nor more."""
    model = MODELS[name]
    truth = float(np.median(model(np.random.default_rng(99), 2_000))) * ITERATION_S
    held, early, held_early, spent = 0, 0, 0, 0.0
    for row in model(np.random.default_rng(5), RUNS):
        samples, reason, elapsed = sampled(row, Stopping(precision=0.01, max_time=0.13), ITERATION_S)
        interval = samples.interval()
        assert interval is not None
        holds = interval[0] <= truth <= interval[1]
        held, spent = held + holds, spent + elapsed
        if reason == "precision":
            early, held_early = early + 1, held_early + holds
    print(
        f"{name}: held {held / RUNS:.3f}; stopped for precision {early / RUNS:.2f}, "
        f"held {held_early / max(early, 1):.3f}; {spent / RUNS:.2f} s"
    )
    holding, stopping, _ = documented()[name]
    assert stopping is not None
    assert agrees(held, RUNS, holding) and agrees(early, RUNS, stopping)


@pytest.mark.parametrize("name", MODELS)
def test_coverage_of_sizes_that_take_turns(name: str) -> None:
    """Protects short batches: the noise changes between two of one size, so their intervals hold as well."""
    model = MODELS[name]
    truth = float(np.median(model(np.random.default_rng(99), 2_000))) * ITERATION_S
    stopping, held = Stopping(precision=0.01, max_time=0.13 / AT_ONCE), 0
    for row in model(np.random.default_rng(5), RUNS):
        interval = sampled(row, stopping, ITERATION_S, AT_ONCE)[0].interval()
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    print(f"{name}: held by turns {held / RUNS:.3f}")
    holding = documented()[name][2]
    assert holding is not None and agrees(held, RUNS, holding)


@pytest.mark.parametrize("name", FEW)
def test_coverage_of_a_few_long_iterations_with_late_ones(name: str) -> None:
    """Protects Student's t of 3 to 5 batches, and the order statistics of 6 and more."""
    rng, runs = np.random.default_rng(11), 4_000

    def draw(rows: int) -> Floats:
        steady = np.exp(0.02 * rng.standard_normal((rows, FEW[name])))
        return steady + rng.exponential(0.05, (rows, FEW[name]))

    truth, held = float(np.median(draw(100_000))), 0
    for row in draw(runs).tolist():
        interval = median_interval(row, statistics.median(row))
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    print(f"{name}: held {held / runs:.3f}")
    assert agrees(held, runs, documented()[name][0])


def test_a_steady_fast_size_takes_the_fewest_batches() -> None:
    rng = np.random.default_rng(1)
    samples, reason, elapsed = sampled(1 + 0.01 * fast(rng, 1)[0], Stopping(), ITERATION_S)
    assert reason == "precision" and samples.batches == 14 and 0.06 < elapsed < 0.08


def test_noise_runs_to_the_end_of_the_time_and_not_past_it() -> None:
    rng = np.random.default_rng(1)
    samples, reason, elapsed = sampled(np.exp(2 * fast(rng, 1)[0]), Stopping(max_time=0.3), ITERATION_S)
    precision = samples.precision()
    assert reason == "max-time" and precision is not None and precision > 0.01
    assert elapsed >= 0.3


@pytest.mark.parametrize(
    ("iteration_s", "batches_taken", "interval"),
    [(0.7, 3, True), (4.5, 3, True), (5.1, 1, False), (0.19, 3, True)],
)
def test_long_iterations(iteration_s: float, batches_taken: int, interval: bool) -> None:
    samples, reason, _ = sampled(1 + 0.1 * fast(np.random.default_rng(1), 1)[0], Stopping(), iteration_s)
    assert reason == "max-time" and samples.count == samples.batches == batches_taken
    assert (samples.interval() is not None) == interval == (samples.precision() is not None)


def test_three_long_iterations_that_agree_are_precise() -> None:
    samples, reason, _ = sampled(np.ones(MOST), Stopping(), 0.7)
    assert reason == "precision" and samples.count == 3
