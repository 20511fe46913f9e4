"""A robust mixed model: logarithms of times as sums of shared effects, by sparse least squares.

    log time = centre + one effect of each term + noise

Effects and noise follow Student's t, so that a few large ones are taken as they are and do not spread to
others (Lange, Little and Taylor 1989, doi:10.1080/01621459.1989.10478852). Memory and time grow with the
number of times. For users: docs/fleet.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wirespeed.statistics.arrays import Floats, Places

TAIL = 4.0
"""Degrees of freedom of effects and noise."""
NORMAL = 1.2033643751034475
"""Standard deviation of normal values over the scale of Student's t that is fitted to them."""
NORMAL_75 = 0.6744897501960817
"""Standard deviations within which half of a normal distribution lies."""
USUAL = 0.01
"""Standard deviation of effects, before any were seen (results/h200-x2-*.jsonl) ..."""
BELIEF = 3.0
"""... which counts as so many effects."""
WIDE = 3.0
"""Standard deviation, in logarithms, of effects that may have any size."""
START = 30
_SMALLEST = 1e-7
_ROUNDS, _STEPS, _EXACT = 25, 60, 1e-9


@dataclass(frozen=True)
class Term:
    """Effects of one kind, such as those of nodes."""

    levels: Places
    """Numbers of the effects that each time has: shape (times, any), -1 for none."""
    count: int
    """Number of effects."""
    wide: bool = False
    """May they have any size? Else they are mostly near 0."""

    @staticmethod
    def of(*columns: Places, count: int, wide: bool = False) -> Term:
        """From columns of levels, one for each effect that a time has."""
        return Term(np.stack(columns, axis=1).astype(np.int64), count, wide)


@dataclass(frozen=True)
class Mixed:
    """A fitted model."""

    centre: float
    effects: Mapping[str, Floats]
    """The effects of each term."""
    rest: Floats
    """Part of each time that no effect explains."""
    noise: Floats
    """The same, as large as noise is: a time has a part in its own effects, which hides some."""
    without: Floats
    """Excess of each time over its effects as the other times have them."""
    deviation: float
    """Standard deviation of the bulk of the noise."""
    free: float
    """Degrees of freedom that the effects leave to the noise."""


def fit(logs: Floats, terms: Mapping[str, Term]) -> Mixed:
    """Fits centre, effects and their variances by expectation and maximisation.

    Each round solves a weighted least squares problem by conjugate gradients. The variance of an estimate is
    taken from the diagonal of that problem.
    """
    total = 1 + sum(term.count for term in terms.values())
    places, columns = {}, [np.zeros((len(logs), 1), dtype=np.int64)]
    start = 1
    for name, term in terms.items():
        places[name] = slice(start, start + term.count)
        columns.append(np.where(term.levels < 0, total, term.levels + start))
        start += term.count
    # A row for each term: sums over them are many times faster than over columns.
    index = np.ascontiguousarray(np.concatenate(columns, axis=1).T)
    effects = np.zeros(total + 1)
    effects[0] = np.median(logs)
    noise = max(_bulk(logs - effects[0]), _SMALLEST) ** 2
    weights = np.ones(len(logs))
    squares = {name: WIDE**2 if term.wide else max(START * noise, USUAL**2) for name, term in terms.items()}
    shrinks = {name: np.ones(term.count) for name, term in terms.items()}
    rest, known = logs - effects[0], np.zeros(len(logs))
    for _ in range(_ROUNDS):
        prior = np.zeros(total + 1)
        for name, place in places.items():
            prior[place] = noise * shrinks[name] / squares[name]
        effects, diagonal = _solve(index, weights, prior, logs, effects, total)
        rest = logs - effects[index].sum(axis=0)
        own = np.append(1 / diagonal[:total], 0.0)
        known = own[index].sum(axis=0)
        before = noise, dict(squares)
        weights = (TAIL + 1) / (TAIL + (rest**2 / noise + known))
        noise = max(float(np.mean(weights * (rest**2 + before[0] * known))), _SMALLEST**2)
        for name, term in terms.items():
            if term.wide:
                continue
            place = places[name]
            size = effects[place] ** 2 + before[0] * own[place]
            shrinks[name] = (TAIL + 1) / (TAIL + size / squares[name])
            usual = BELIEF * (USUAL / NORMAL) ** 2
            squares[name] = (usual + float((shrinks[name] * size).sum())) / (BELIEF + term.count)
        settled = abs(np.log(noise / before[0])) < 0.01
        if settled and all(abs(np.log(squares[name] / before[1][name])) < 0.01 for name in terms):
            break
    share = np.minimum(weights * known, 0.8)
    return Mixed(
        float(effects[0]),
        {name: effects[place].copy() for name, place in places.items()},
        rest,
        rest / np.sqrt(1 - share),
        rest / (1 - share),
        NORMAL * noise**0.5,
        max(1.0, float((1 - share).sum())),
    )


def _solve(
    index: Places, weights: Floats, prior: Floats, logs: Floats, begin: Floats, total: int
) -> tuple[Floats, Floats]:
    """Weighted least squares with a prior precision of each effect; the last effect is that of no level."""
    flat, wide = index.ravel(), len(index)

    def gathered(values: Floats) -> Floats:
        found: Floats = np.bincount(flat, np.tile(values, wide), total + 1).astype(np.float64)
        found[total] = 0.0
        return found

    diagonal = np.maximum(gathered(weights) + prior, 1e-12)
    effects = begin.copy()
    effects[total] = 0.0
    residual = gathered(weights * (logs - effects[index].sum(axis=0))) - prior * effects
    step = residual / diagonal
    product = float(residual @ step)
    direction = step
    target = _EXACT**2 * float(weights.sum())
    for _ in range(_STEPS):
        if product <= target:
            break
        image = gathered(weights * direction[index].sum(axis=0)) + prior * direction
        length = product / float(direction @ image)
        effects = effects + length * direction
        residual = residual - length * image
        step = residual / diagonal
        before, product = product, float(residual @ step)
        direction = step + product / before * direction
    return effects, diagonal


def _bulk(values: Floats) -> float:
    """Standard deviation of the bulk: the median absolute deviation, as for normal noise."""
    return float(np.median(np.abs(values - np.median(values)))) / NORMAL_75
