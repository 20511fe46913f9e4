"""How often 95 % intervals contain the true median: of a figure at the defaults, few iterations, launches.

Each model of noise draws many iterations of 0.25 ms. The stopping rule runs on them at its defaults as in a
rank, and the interval either contains the true median or not. Tables: claims.py.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.statistics.samples import Samples, median_interval
from wirespeed.statistics.stopping import MOMENT_S, Stopping, StoppingRule
from wirespeed.statistics.two_speeds import changed

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ITERATION_S = 2.5e-4
APART = math.ceil(MOMENT_S / ITERATION_S)
"""Iterations from one batch to the next of the same size, at least."""
MOST = 17_000
AT_ONCE = 21
"""Sizes up to 1 MiB, which take turns."""
FEWEST = 40
"""Of fewer figures no share is written."""
AT_A_TIME = 50
"""Rows that are drawn together, which memory limits."""


def slow(rng: Generator, rows: int, iterations: float) -> Floats:
    """Gaussian noise with a correlation time of `iterations` (an autoregressive process of order one)."""
    keep = math.exp(-1 / iterations)
    # Iterations first, because each step takes all rows.
    fresh = rng.standard_normal((MOST, rows))
    fresh[1:] *= math.sqrt(1 - keep * keep)
    for i in range(1, MOST):
        fresh[i] += keep * fresh[i - 1]
    return np.ascontiguousarray(fresh.T)


def switching(rng: Generator, rows: int, dwell: float) -> Floats:
    """0 or 1, changing about every `dwell` iterations."""
    flips = np.cumsum(rng.random((rows, MOST)) < 1 / dwell, axis=1) + rng.integers(0, 2, (rows, 1))
    return (flips % 2).astype(np.float64)


def periodic(share: float, slow_s: float, every_s: float, rng: Generator, rows: int) -> Floats:
    """Slower by `share` for `slow_s` of every `every_s`, from any moment on; and 1 % fast."""
    moments = np.arange(MOST) * ITERATION_S + rng.uniform(0, every_s, (rows, 1))
    is_slow = (moments % every_s < slow_s).astype(np.float64)
    found: Floats = (1 + share * is_slow) * np.exp(0.01 * fast(rng, rows))
    return found


def fast(rng: Generator, rows: int) -> Floats:
    return rng.standard_normal((rows, MOST))


def slow_and_fast(share: float, iterations: float, rng: Generator, rows: int, quick: float = 0.05) -> Floats:
    return np.exp(share * slow(rng, rows, iterations) + quick * fast(rng, rows))


def late(rng: Generator, rows: int) -> Floats:
    """One iteration in twenty is late, now and then by orders of magnitude (Pareto, no finite variance)."""
    return np.where(rng.random((rows, MOST)) < 0.05, rng.pareto(1.2, (rows, MOST)), 0.0)


Model = Callable[["Generator", int], "Floats"]
MODELS: dict[str, Model] = {
    "independent, lognormal 1 %": lambda r, n: np.exp(0.01 * fast(r, n)),
    "independent, lognormal 5 %": lambda r, n: np.exp(0.05 * fast(r, n)),
    "independent, lognormal 10 %": lambda r, n: np.exp(0.1 * fast(r, n)),
    "the same, and 5 % of iterations late, some by orders of magnitude": (
        lambda r, n: np.exp(0.1 * fast(r, n)) + late(r, n)
    ),
    "independent, exponential delays of 10 %": lambda r, n: 1 + r.exponential(0.1, (n, MOST)),
    "independent, exponential delays of 3 %": lambda r, n: 1 + r.exponential(0.03, (n, MOST)),
    "independent, Student's t of 3 %, 3 degrees of freedom": (
        lambda r, n: np.exp(0.03 * r.standard_t(3, (n, MOST)))
    ),
    "slow: 3 %, correlation time 2.5 ms; and 5 % fast": partial(slow_and_fast, 0.03, 10),
    "slow: 3 %, correlation time 5 ms; and 5 % fast": partial(slow_and_fast, 0.03, 20),
    "slow: 3 %, correlation time 10 ms; and 5 % fast": partial(slow_and_fast, 0.03, 40),
    "slow: 2 %, correlation time 20 ms; and 5 % fast": partial(slow_and_fast, 0.02, 80),
    "slow: 1 %, correlation time 20 ms; and 5 % fast": partial(slow_and_fast, 0.01, 80),
    "slow: 1 %, correlation time 20 ms; and 1 % fast": partial(slow_and_fast, 0.01, 80, quick=0.01),
    "slow: 1 %, correlation time 50 ms; and 1 % fast": partial(slow_and_fast, 0.01, 200, quick=0.01),
    "slow: 1 %, correlation time 100 ms; and 1 % fast": partial(slow_and_fast, 0.01, 400, quick=0.01),
    "slow: 3 %, correlation time 100 ms; and 5 % fast": partial(slow_and_fast, 0.03, 400),
    "two speeds, 5 % apart, changing every 5 ms": (
        lambda r, n: 1 + 0.05 * switching(r, n, 20) + 0.03 * fast(r, n)
    ),
    "two speeds, 5 % apart, changing every 50 ms": (
        lambda r, n: 1 + 0.05 * switching(r, n, 200) + 0.03 * fast(r, n)
    ),
    "two speeds, 2 % apart, changing every 50 ms": (
        lambda r, n: 1 + 0.02 * switching(r, n, 200) + 0.005 * fast(r, n)
    ),
    "two speeds, 2 % apart, changing every 100 ms": (
        lambda r, n: 1 + 0.02 * switching(r, n, 400) + 0.005 * fast(r, n)
    ),
}
LONGER: dict[str, Model] = {
    f"{share} % slower for {of} s of every {every} s": partial(periodic, share / 100, of, every)
    for share, of, every in ((5, 0.05, 0.15), (15, 0.15, 0.45), (15, 0.5, 1.5))
}
"""Disturbances that last as long as a figure's measurement: what is seen of them is no sample of them."""
FEW = {f"{count} long iterations with exponential delays": count for count in (3, 4, 5, 6, 12)}
LAUNCHES = (3, 4, 5, 6, 10, 20)
ALIKE: dict[str, Model] = {
    "launches differ by 0.2 %": lambda r, n: np.exp(r.normal(0, 0.002, (n, max(LAUNCHES)))),
    "by 5 %": lambda r, n: np.exp(r.normal(0, 0.05, (n, max(LAUNCHES)))),
    "by 5 %, and one of seven is late": (
        lambda r, n: np.exp(
            r.normal(0, 0.05, (n, max(LAUNCHES)))
            + (r.random((n, max(LAUNCHES))) < 1 / 7) * r.exponential(0.25, (n, max(LAUNCHES)))
        )
    ),
}


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


def truth_of(model: Model) -> float:
    """The true median, in seconds."""
    return float(np.median(model(np.random.default_rng(99), 300))) * ITERATION_S


def covered(model: Model, truth: float, repetitions: int) -> list[list[int]]:
    """Of so many figures how many hold, how many stop for precision, how many of these hold, and how many are
    seen to change their speed once or twice.

    Alone, and AT_ONCE sizes by turns, of the same iterations.
    """
    counts = np.zeros((2, 4), dtype=np.int64)
    dice = np.random.default_rng(5)
    for begin in range(0, repetitions, AT_A_TIME):
        for row in model(dice, min(AT_A_TIME, repetitions - begin)):
            for count, turns in zip(counts, (1, AT_ONCE), strict=True):
                samples, reason, _ = sampled(row, Stopping(), ITERATION_S, turns)
                low, high = samples.interval() or (math.nan, math.nan)
                holds, early = low <= truth <= high, reason == "precision"
                count += holds, early, holds and early, changed(samples.medians) is not None
    return [[*map(int, count)] for count in counts]


def figures(repetitions: int) -> Iterator[str]:
    """The percentage of figures whose interval holds, that stopped for precision, and of these that hold."""
    yield from _figures(MODELS, repetitions)


def longer(repetitions: int) -> Iterator[str]:
    """The same where disturbances last as long as the measurement, and whether a figure sees a change."""
    yield from _figures(LONGER, repetitions, seen=True)


def _figures(models: dict[str, Model], repetitions: int, *, seen: bool = False) -> Iterator[str]:
    heads = "holds", "precise", "of these hold", *["a change is seen"] * seen
    yield f"| noise | alone: {' | '.join(heads)} | by turns: {' | '.join(heads)} |"
    yield "|---" * (1 + 2 * len(heads)) + "|"
    for name, model in models.items():
        cells = []
        for held, early, held_early, has_changed in covered(model, truth_of(model), repetitions):
            cells += [_percent(held, repetitions), _percent(early, repetitions)]
            cells.append(
                _percent(held_early, early) if early >= max(1, min(FEWEST, repetitions // 5)) else ""
            )
            cells += [_percent(has_changed, repetitions)] * seen
        yield f"| {name} | {' | '.join(cells)} |"


def few(repetitions: int) -> Iterator[str]:
    """The percentage of intervals of a few long iterations that hold."""
    yield "| noise | holds |"
    yield "|---|---|"
    for name, count in FEW.items():
        yield f"| {name} | {_percent(held_of_few(count, repetitions), repetitions)} |"


def held_of_few(count: int, repetitions: int) -> int:
    """How many intervals of so many iterations hold, with delays of 5 %."""
    dice = np.random.default_rng(11)

    def draw(rows: int) -> Floats:
        return np.exp(0.02 * dice.standard_normal((rows, count))) + dice.exponential(0.05, (rows, count))

    return _held(draw(repetitions), float(np.median(draw(100_000))))


def launches(repetitions: int) -> Iterator[str]:
    """The percentage of intervals of several launches that hold."""
    yield f"| launches, in percent | {' | '.join(map(str, LAUNCHES))} |"
    yield "|---" * (len(LAUNCHES) + 1) + "|"
    for name in ALIKE:
        shares = (held_of_launches(name, count, repetitions) / repetitions for count in LAUNCHES)
        yield f"| {name} | {' | '.join(f'{100 * share:.0f}' for share in shares)} |"


def held_of_launches(name: str, count: int, repetitions: int) -> int:
    """How many intervals of so many launches hold."""
    dice = np.random.default_rng(7)
    return _held(ALIKE[name](dice, repetitions)[:, :count], float(np.median(ALIKE[name](dice, 10_000))))


def _held(rows: Floats, truth: float) -> int:
    held = 0
    for row in rows.tolist():
        low, high = median_interval(row, statistics.median(row)) or (math.nan, math.nan)
        held += low <= truth <= high
    return held


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %"
