"""Do 95 % intervals contain the true median, under noise that is heavy-tailed, skewed, slow?

Each model draws many iterations of 0.25 ms. The stopping rule runs on them at its defaults as in a rank, and
the interval either contains the true median or not. results/README.md has a table of how often it does; the
tests compare it with the code, in both directions, as closely as so many runs can tell.
COVERAGE_RUNS=1000 pytest -s -k every_row_holds prints the table.
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

from wirespeed.statistics.allowance import COARSE
from wirespeed.statistics.samples import Samples, median_interval
from wirespeed.statistics.stopping import MOMENT_S, Stopping, StoppingRule

pytestmark = pytest.mark.slow

Floats = NDArray[np.float64]

ITERATION_S = 2.5e-4
APART = math.ceil(MOMENT_S / ITERATION_S)
"""Iterations from one batch to the next of the same size, at least."""
MOST = 16_000
RUNS = int(os.environ.get("COVERAGE_RUNS", "300"))
AT_ONCE = 21
"""Sizes up to 1 MiB, which take turns."""
FEWEST = 40
"""Of fewer runs no share is documented."""


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
    "slow: 3 %, correlation time 100 ms; and 5 % fast": partial(slow_and_fast, 0.03, 400),
    "two speeds, 5 % apart, changing every 5 ms": (
        lambda r, n: 1 + 0.05 * switching(r, n, 20) + 0.03 * fast(r, n)
    ),
    "two speeds, 5 % apart, changing every 50 ms": (
        lambda r, n: 1 + 0.05 * switching(r, n, 200) + 0.03 * fast(r, n)
    ),
}
QUICK = [*MODELS][3::4]
"""Of each kind of noise one: skewed, slow, two speeds."""
FEW = {f"{count} long iterations with exponential delays": count for count in (3, 4, 5, 6, 12)}


Shares = tuple[float | None, ...]
"""Alone: how often the interval holds, how often precision stops, how often these hold; by turns the same."""


def documented() -> dict[str, Shares]:
    """The tables of results/README.md, by noise."""
    text = (Path(__file__).parents[2] / "results" / "README.md").read_text()
    text = text.split("## Do the intervals hold?")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) \|((?: (?:\d+ %)? ?\|)+)$", text, re.MULTILINE)
    return {
        name: tuple(int(cell[:-2]) / 100 if cell else None for cell in map(str.strip, cells.split("|")[:-1]))
        for name, cells in rows
    }


def agrees(count: int, runs: int, share: float) -> bool:
    """Is `count` of `runs` what a share, written in whole percent, leads to by chance (three sigma)?"""
    known = min(max(share, 0.005), 0.995)
    return abs(count / runs - share) <= 0.005 + 3 * math.sqrt(known * (1 - known) / runs)


def test_every_row_is_simulated() -> None:
    """Protects the table from figures that no simulation confirms."""
    assert set(documented()) == {*MODELS, *FEW}


def sampled(
    iterations: Floats, stopping: Stopping, iteration_s: float, turns: int = 1, budget_s: float = 0.0
) -> tuple[Samples, str, float]:
    """Runs the rule on one row of iterations, as a rank does; each value is an iteration over iteration_s.

    `turns`: how many sizes take turns, of whose batches one in so many is this one's.
    """
    at, elapsed = 0, 0.0
    more_s = (lambda: budget_s - elapsed) if budget_s else None
    rule, samples = StoppingRule(stopping, 25e-9, 1e-9, more_s=more_s), Samples()
    while (reason := rule.decide(samples, elapsed)) is None:
        per_sample, count = rule.next_batch(iteration_s, samples, elapsed, turns)
        assert per_sample == 1
        batch = iterations[at : at + count] * iteration_s
        assert len(batch) == count
        samples.add(batch.tolist(), each=rule.long_samples)
        apart = max(turns * count, APART) if iteration_s < MOMENT_S else count
        at, elapsed = at + apart, elapsed + float(batch.sum())
    return samples, reason, elapsed


def covered(model: Model, truth: float, turns: int) -> tuple[int, int, int]:
    """Of RUNS how many hold, how many stop for precision, and how many of these hold."""
    held, early, held_early = 0, 0, 0
    dice = np.random.default_rng(5)
    for row in (row for _ in range(RUNS // 50) for row in model(dice, 50)):
        samples, reason, _ = sampled(row, Stopping(), ITERATION_S, turns)
        interval = samples.interval()
        assert interval is not None
        holds = interval[0] <= truth <= interval[1]
        held += holds
        early += reason == "precision"
        held_early += holds and reason == "precision"
    return held, early, held_early


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in MODELS]
)
def test_every_row_holds(name: str) -> None:
    """Protects the 95 % of every interval: the table's figures, neither less nor more."""
    model = MODELS[name]
    truth = float(np.median(model(np.random.default_rng(99), 300))) * ITERATION_S
    cells, runs = [], RUNS // 50 * 50
    for turns, (holding, stopping, of_those) in (
        (1, documented()[name][:3]),
        (AT_ONCE, documented()[name][3:]),
    ):
        held, early, held_early = covered(model, truth, turns)
        cells += [f"{100 * held / runs:.0f} %", f"{100 * early / runs:.0f} %"]
        cells.append(f"{100 * held_early / early:.0f} %" if early >= FEWEST else "")
        if "COVERAGE_RUNS" not in os.environ:
            assert holding is not None and stopping is not None
            assert agrees(held, runs, holding) and agrees(early, runs, stopping)
            assert of_those is None or not early or agrees(held_early, early, of_those)
    print(f"| {name} | {' | '.join(cells)} |")


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
    holding = documented()[name][0]
    assert holding is not None and agrees(held, runs, holding)


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
    assert reason == "precision" and samples.count == samples.batches == 3


@pytest.mark.parametrize("kind", ["skewed", "two speeds"])
def test_a_figure_that_was_measured_on_holds_too(kind: str) -> None:
    """Protects intervals of figures that took more time because they were wide: no chance is looked for."""
    rng, rows = np.random.default_rng(3), 200
    draws = (
        np.exp(fast(rng, rows)) if kind == "skewed" else 1 + switching(rng, rows, 60) + 0.1 * fast(rng, rows)
    )
    truth = (1.0 if kind == "skewed" else 1.5) * ITERATION_S
    held = coarse = 0
    for row in draws:
        samples, _, _ = sampled(row, Stopping(), ITERATION_S, turns=3, budget_s=0.6)
        interval, precision = samples.interval(), samples.precision()
        assert interval and precision
        held += interval[0] <= truth <= interval[1]
        coarse += precision > COARSE
    print(f"{kind}: held {held / rows:.3f}, {coarse / rows:.3f} still coarse")
    assert held / rows >= 0.92
