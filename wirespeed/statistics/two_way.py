"""Which end of a pair is slow: effects of nodes from the times of pairs of them, robust against outliers.

For users: docs/fleet.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.statistics.outliers import bulk_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

FEWEST_PARTNERS = 3
"""With fewer, one slow partner is as likely as a slow node."""
TUKEY = 4.685
"""Tukey's bisquare ignores what lies further off than so many standard deviations: 95 % efficient for normal
noise (Holland and Welsch 1977, doi:10.1080/03610927708827533)."""
_SWEEPS, _REWEIGHTINGS = 60, 8
_FEWEST_TIMES = 1e-9


@dataclass(frozen=True)
class TwoWay:
    """Logarithms of times, split into a centre, an effect of each end, and what is left of each pair."""

    centre: float
    effects: Floats
    """Of each node; 0 where it has fewer than FEWEST_PARTNERS partners."""
    effect_errors: Floats
    """Standard error of each; infinite where it has too few partners."""
    partners: Places
    """Partners of each node, each counted once."""
    pair_effects: Floats
    """What each pair takes more than its ends explain, without its own part in them."""
    pair_errors: Floats
    """Standard error of each."""


def two_way(first: Places, second: Places, logs: Floats, nodes: int) -> TwoWay:
    """Fits log time = centre + effect of one end + effect of the other, by reweighted least squares.

    `first`, `second`: the nodes of each pair, as numbers below `nodes`; `logs`: logarithms of seconds, of the
    same length. The weights are Tukey's bisquare, so that a slow link does not make its ends look slow.
    """
    partners = _partners(first, second, nodes)
    known = partners >= FEWEST_PARTNERS
    centre = float(np.median(logs))
    effects = np.where(known, _medians_of_ends(first, second, logs - centre, nodes), 0.0)
    weights = np.ones_like(logs)
    spread = _FEWEST_TIMES
    for _ in range(_REWEIGHTINGS):
        centre, effects = _sweep(first, second, logs, weights, effects, known)
        rest = logs - centre - effects[first] - effects[second]
        free = max(1, len(logs) - int(known.sum()))
        spread = max(bulk_scale(rest) * (len(logs) / free) ** 0.5, _FEWEST_TIMES)
        distance = np.minimum(1.0, np.abs(rest) / (TUKEY * spread))
        weights = (1 - distance**2) ** 2
    mass = _summed(first, second, weights, nodes)
    errors = np.where(known & (mass > 0), spread / np.sqrt(np.maximum(mass, 0.5)), np.inf)
    share = np.where(known, 1 / np.maximum(mass, 0.5), 0.0)
    # A pair's own part in the effects of its ends hides some of what it takes more.
    hidden = np.minimum(0.9, weights * (share[first] + share[second]))
    pair_effects = rest / (1 - hidden)
    without = [np.where(known[end], 1 / np.maximum(mass[end] - weights, 0.5), 0.0) for end in (first, second)]
    pair_errors = spread * np.sqrt(1 + without[0] + without[1])
    return TwoWay(centre, effects, errors, partners, pair_effects, pair_errors)


def _sweep(
    first: Places, second: Places, logs: Floats, weights: Floats, effects: Floats, known: NDArray[np.bool_]
) -> tuple[float, Floats]:
    """Weighted least squares by damped Jacobi steps, with the median effect at 0."""
    nodes = len(effects)
    mass = np.maximum(_summed(first, second, weights, nodes), 1e-6)
    total = max(float(weights.sum()), 1e-6)
    centre = 0.0
    for _ in range(_SWEEPS):
        centre = float((weights * (logs - effects[first] - effects[second])).sum()) / total
        wanted = logs - centre
        parts = np.bincount(first, weights * (wanted - effects[second]), nodes)
        parts += np.bincount(second, weights * (wanted - effects[first]), nodes)
        effects = np.where(known, (effects + parts / mass) / 2, 0.0)
        if known.any():
            effects = np.where(known, effects - np.median(effects[known]), 0.0)
    return float((weights * (logs - effects[first] - effects[second])).sum()) / total, effects


def _summed(first: Places, second: Places, values: Floats, nodes: int) -> Floats:
    """Of each node: the values of its pairs, added up."""
    both = np.bincount(first, values, nodes) + np.bincount(second, values, nodes)
    return both.astype(np.float64)


def _partners(first: Places, second: Places, nodes: int) -> Places:
    pairs = np.unique(np.stack([np.minimum(first, second), np.maximum(first, second)]), axis=1)
    return np.bincount(pairs.ravel(), minlength=nodes).astype(np.int64)


def _medians_of_ends(first: Places, second: Places, values: Floats, nodes: int) -> Floats:
    """Of each node: the median of its pairs' values; 0 without any."""
    ends, both = np.concatenate([first, second]), np.concatenate([values, values])
    return group_medians(ends, both, nodes)


def group_medians(groups: Places, values: Floats, count: int) -> Floats:
    """The median of each group's values; 0 of a group without any."""
    order = np.lexsort((values, groups))
    ordered = values[order]
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    low, high = starts + np.maximum(sizes - 1, 0) // 2, starts + sizes // 2
    top = max(len(ordered) - 1, 0)
    if not len(ordered):
        return np.zeros(count)
    middles = (ordered[np.minimum(low, top)] + ordered[np.minimum(high, top)]) / 2
    return np.where(sizes > 0, middles, 0.0)


def median_of(values: Floats) -> float:
    """The median of all values."""
    return float(np.median(values))
