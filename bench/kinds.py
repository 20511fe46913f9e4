"""Verdicts under thirteen kinds of noise whose size differs by path by a factor of 450 (claims.py).

A launch has one effect on all sizes of a path. Nothing here is known to the judge: effects are drawn with
memory, with heavy tails, with modes, on a grid, or drift with time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from verdicts import PATHS, named, runs, share

from wirespeed.judge.verdict import HARMFUL
from wirespeed.report.compare.comparison import compare
from wirespeed.report.drift.detection import FIRST, Drift

if TYPE_CHECKING:
    from noise import Floats
    from numpy.random import Generator

SPREADS = np.geomspace(0.0002, 0.09, len(PATHS))
"""Standard deviation, or scale, of each path's launches."""
SIZES = [1 << power for power in (3, 8, 12, 14, 16, 18, 20, 24, 30)]
OWN = 0.2
"""Normal noise of each figure, of its path's."""
LOOKS = 60


def _ar(dice: Generator, launches: int, phi: float) -> Floats:
    effects = np.empty(launches)
    effects[0] = dice.normal()
    for at in range(1, launches):
        effects[at] = phi * effects[at - 1] + dice.normal() * math.sqrt(1 - phi**2)
    return effects


def _one_over_f(dice: Generator, launches: int) -> Floats:
    many = 1024
    frequencies = np.fft.rfftfreq(many)
    amplitudes = np.zeros_like(frequencies)
    amplitudes[1:] = 1 / np.sqrt(frequencies[1:])
    phases = dice.normal(size=len(frequencies)) + 1j * dice.normal(size=len(frequencies))
    noise: Floats = np.fft.irfft(amplitudes * phases, many)
    start = int(dice.integers(many - launches))
    part: Floats = noise[start : start + launches] / noise.std()
    return part


def _bad(dice: Generator, launches: int) -> Floats:
    effects = dice.normal(size=launches)
    effects[dice.integers(launches)] += 10
    return effects


Draw = Callable[["Generator", int], "Floats"]
KINDS: dict[str, Draw] = {
    "placements: 20 % of the launches slower": lambda dice, n: (
        dice.normal(size=n) + 5 * (dice.random(n) < 0.2)
    ),
    "placements: 50 %": lambda dice, n: dice.normal(size=n) + 5 * (dice.random(n) < 0.5),
    "one bad launch": _bad,
    "AR(1), 0.5": lambda dice, n: _ar(dice, n, 0.5),
    "AR(1), 0.95": lambda dice, n: _ar(dice, n, 0.95),
    "1/f": _one_over_f,
    "pauses in 10 %": lambda dice, n: dice.normal(size=n) + (dice.random(n) < 0.1) * dice.exponential(5, n),
    "thermal drift of 3 %": lambda dice, n: dice.normal(size=n),
    "a reboot in the middle, 1.5 % slower": lambda dice, n: dice.normal(size=n),
    "Cauchy": lambda dice, n: 0.5 * dice.standard_cauchy(n),
    "Pareto, 1.2": lambda dice, n: dice.pareto(1.2, n),
    "a clock of two standard deviations": lambda dice, n: 2 * np.round(dice.normal(size=n) / 2),
    "a third of the time 15 % slower, one launch in ten all of it": lambda dice, n: dice.normal(size=n),
}


def times(dice: Generator, kind: str, launches: int) -> Floats:
    """Logarithms: of each path, size and launch, in the order of time."""
    effects = np.array([KINDS[kind](dice, launches) * spread for spread in SPREADS])
    if kind.startswith("thermal"):
        effects += np.log1p(0.03) * np.linspace(0, 1, launches)
    if kind.startswith("a reboot"):
        effects[:, launches // 2 :] += np.log1p(0.015)
    if kind.startswith("a third"):
        effects += np.log1p(0.15) * (dice.random(launches) < 0.1)
    own = dice.normal(size=(len(SPREADS), len(SIZES), launches)) * (OWN * SPREADS)[:, np.newaxis, np.newaxis]
    found: Floats = effects[:, np.newaxis] + own
    return found


def _judged(dice: Generator, kind: str, each: int, slower: float = 0.0, *, by_turns: bool = True) -> bool:
    """Is anything named? With `slower`: the middle path of the new side, which is so much slower."""
    found = times(dice, kind, 2 * each)
    mine = np.arange(2 * each) % 2 == 0 if by_turns else np.arange(2 * each) < each
    new = found[:, :, ~mine]
    new[len(PATHS) // 2] += math.log1p(slower)
    places = np.flatnonzero(mine).tolist(), np.flatnonzero(~mine).tolist()
    told = compare(runs(found[:, :, mine], "old", SIZES, places[0]), runs(new, "new", SIZES, places[1]))
    if not slower:
        return named(told)
    path = PATHS[len(PATHS) // 2]
    return any(group.what in HARMFUL and group.key.path == path for group in told.verdicts.groups)


def _watched(dice: Generator, kind: str) -> bool:
    """Is anything named in a steady watch of a path whose repetitions differ by 1 %?"""
    effects = np.clip(KINDS[kind](dice, FIRST + LOOKS), -50, 50) * 0.01
    found = effects[np.newaxis, np.newaxis] + 0.002 * dice.normal(size=(1, len(SIZES), FIRST + LOOKS))
    repetitions = runs(found, "watched", SIZES)
    drift = Drift(runs=repetitions[:FIRST])
    for run in repetitions[FIRST:]:
        drift.runs.append(run)
        if drift.verdicts.harmful:
            return True
    return False


def table(repetitions: int) -> Iterator[str]:
    """Percentages: of comparisons and watches that name anything, and of slowdowns that are found."""
    heads = "3, 3 by turns: named", "5, 5 by turns", "10, 10 by turns", "5, 5 one side after the other"
    found = "x1.3 found, 5, 5", "x1.02 found, 10, 10", "watch, 60 looks: named"
    yield f"| noise | {' | '.join([*heads, *found])} |"
    yield "|---" * 8 + "|"
    for kind in KINDS:
        counts = np.zeros(7)
        for seed in range(repetitions):
            dice = np.random.default_rng([seed, *kind.encode()])
            counts[0] += _judged(dice, kind, 3)
            counts[1] += _judged(dice, kind, 5)
            counts[2] += _judged(dice, kind, 10)
            counts[3] += _judged(dice, kind, 5, by_turns=False)
            counts[4] += _judged(dice, kind, 5, 0.3)
            counts[5] += _judged(dice, kind, 10, 0.02)
            if seed < repetitions // 3 or not seed:
                counts[6] += _watched(dice, kind)
        watches = max(repetitions // 3, 1)
        cells = [share(count, repetitions) for count in counts[:6]] + [share(counts[6], watches)]
        yield f"| {kind} | " + " | ".join(cells) + " |"
