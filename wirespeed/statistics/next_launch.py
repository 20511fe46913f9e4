"""How slow may a healthy machine's next launch be? One answer for many figures at once.

Launches of a machine differ by what is common to all that a launch measures, by what is common to a path's
sizes, and by what is each figure's own. All three are taken from the launches seen. For users:
docs/checking.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.statistics.comparison import KNOWN, LaunchId, Side, student_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FALSE_ALARMS = 0.01
"""How often a healthy machine's next launch is slower than any of its bounds."""
FEWEST_LAUNCHES = 5
"""Fewer do not tell how far the next one may lie from them."""
FEWEST_PATHS = 3
"""What fewer paths have in common is not told from what is each one's own."""
_DRAWS = 10_000
_TINY = 1e-18
_FEWEST_IN_TAIL = 8
_FEWEST_FOR_TAIL = 40
"""Of fewer effects, their skewness stands for the tail."""
_WHOLE_SKEWNESS = 30
"""From so many effects on, their skewness counts in full."""
CHANCE_SKEWNESS = 0.5
"""Ten normal effects are as skewed, or more, in one of five cases."""
_MIN_LEFT = 0.1
"""Of a variance, at least, stays when one effect is left out."""
SAYS_NOTHING = 100.0
"""A bound further away than this factor is none."""
_AS_NORMAL = 200
"""From so many degrees of freedom on Student's t is drawn as normal, which is faster."""


def slowest_next(
    figures: Sequence[Side],
    paths: Sequence[object],
    spread: float | None = None,
    false_alarms: float = FALSE_ALARMS,
) -> list[float | None]:
    """For each figure the seconds that the next launch of an unchanged machine stays below.

    It stays below all of them at once, but for `false_alarms` of the launches. `paths`: whose figure each is.
    `spread`: the standard deviation between launches, if it is known. None: fewer than FEWEST_LAUNCHES, and
    no spread known, or bounds that say less than a factor of SAYS_NOTHING.
    """
    bounds: list[float | None] = [None] * len(figures)
    told = [
        at for at, side in enumerate(figures) if side and (spread is not None or len(side) >= FEWEST_LAUNCHES)
    ]
    if not told:
        return bounds
    logs = _logs([figures[at] for at in told])
    within = np.array([_within(figures[at]) for at in told])
    if spread is not None:
        z = student_point(2 * false_alarms / len(told), KNOWN)
        counts = np.isfinite(logs).sum(axis=1)
        half = z * np.sqrt((spread**2 + within) * (1 + 1 / counts))
    else:
        half = _half_widths(logs, within, [paths[at] for at in told], false_alarms)
    highest = np.maximum(np.nanmean(logs, axis=1) + half, np.nanmax(logs, axis=1))
    for at, bound, width in zip(told, highest.tolist(), half.tolist(), strict=True):
        bounds[at] = math.exp(bound) if width < math.log(SAYS_NOTHING) else None
    return bounds


def _logs(figures: Sequence[Side]) -> Floats:
    """A row for each figure, a column for each launch; NaN where it gave none."""
    names: dict[LaunchId, int] = {}
    for side in figures:
        for name in side:
            names.setdefault(name, len(names))
    logs = np.full((len(figures), len(names)), np.nan)
    for row, side in enumerate(figures):
        for name, launch in side.items():
            logs[row, names[name]] = math.log(launch.median)
    return logs


def _within(side: Side) -> float:
    """The mean variance of a median's logarithm within its launch."""
    known = [variance for launch in side.values() if (variance := launch.variance) is not None]
    return math.fsum(known) / len(known) if known else 0.0


def _half_widths(logs: Floats, within: Floats, paths: Sequence[object], false_alarms: float) -> Floats:
    """How far above its mean each figure's next launch may lie.

    The next launch is drawn many times from what the launches tell, each variance with the uncertainty that
    few launches leave it (Student's t). The bounds are as many standard deviations of each figure from its
    mean as the largest excess of a draw reaches in `false_alarms` of them.
    """
    numbers = {path: number for number, path in enumerate(dict.fromkeys(paths))}
    of_path = np.array([numbers[path] for path in paths])
    counts = np.isfinite(logs).sum(axis=1)
    distances = logs - np.nanmean(logs, axis=1, keepdims=True)
    common = np.stack([_medians(distances[of_path == number]) for number in numbers.values()])
    shared = np.where(np.isfinite(common).sum(axis=0) >= FEWEST_PATHS, _medians(common), 0.0)
    dice = np.random.default_rng(1)
    excess, variance = np.zeros((_DRAWS, len(paths))), np.full(len(paths), _TINY)
    if shared.any():
        drawn, seen = _drawn(dice, shared[np.newaxis], np.zeros(1), false_alarms)
        excess, variance = excess + drawn, variance + seen
    drawn, seen = _drawn(dice, common - shared, np.zeros(len(numbers)), false_alarms)
    excess, variance = excess + drawn[:, of_path], variance + seen[of_path]
    if len(paths) > len(numbers):
        drawn, seen = _drawn(dice, distances - common[of_path], within, false_alarms)
        excess, variance = excess + drawn, variance + seen
    most = np.max(excess / np.sqrt(variance), axis=1)
    widths: Floats = float(np.quantile(most, 1 - false_alarms)) * np.sqrt(variance * (1 + 1 / counts))
    return widths


def _medians(rows: Floats) -> Floats:
    """Medians over the rows, without those that are NaN; NaN where all are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        medians: Floats = np.nanmedian(rows, axis=0)
    return medians


def _drawn(
    dice: np.random.Generator, effects: Floats, least: Floats, false_alarms: float
) -> tuple[Floats, Floats]:
    """Draws of each row's next effect, and each row's variance, at least `least`.

    The rows' variances are moderated (Smyth 2004, doi:10.2202/1544-6115.1027). The draws follow Student's t,
    stretched to where the effects themselves have a longer tail; where they are many enough to tell, that
    costs a degree of freedom.
    """
    counts = np.isfinite(effects).sum(axis=1)
    freedoms = np.maximum(counts - 1, 1)
    effects = effects - np.nanmean(effects, axis=1, keepdims=True)
    squares = np.nansum(effects**2, axis=1)
    variances = np.maximum(np.maximum(squares / freedoms, least), _TINY)
    prior, prior_freedom = (
        moderation(variances.tolist(), freedoms.tolist()) if len(effects) > 1 else (0.0, 0.0)
    )
    whole = freedoms + prior_freedom
    moderated: Floats = (freedoms * variances + prior_freedom * prior) / whole
    many = bool(counts.sum() >= _FEWEST_FOR_TAIL)
    known = np.maximum(whole - many, 1)
    drawn = dice.standard_normal((_DRAWS, len(effects)))
    few = known < _AS_NORMAL
    drawn[:, few] = dice.standard_t(known[few], (_DRAWS, int(few.sum())))
    if not many:
        stretch = _skewed(effects, moderated, counts)
    else:
        usual = min(float(np.median(known)), KNOWN)
        stretch = _tail(effects, moderated * whole, whole, counts, usual, false_alarms / len(effects))
    return drawn * (stretch * np.sqrt(moderated)), moderated


def _skewed(effects: Floats, variances: Floats, counts: NDArray[np.int64]) -> float:
    """How many times further than Student's t a few effects reach, by their skewness; at least 1.

    It counts the more, the more effects there are, and only beyond CHANCE_SKEWNESS: of few it is chance.
    """
    values = (effects / np.sqrt(variances)[:, np.newaxis])[np.isfinite(effects)]
    skewness = float(np.mean(values**3) / max(float(np.mean(values**2)), _TINY) ** 1.5)
    return 1 + min(1.0, float(counts.sum()) / _WHOLE_SKEWNESS) * max(0.0, skewness - CHANCE_SKEWNESS) / 2


def _tail(
    effects: Floats,
    squares: Floats,
    freedoms: Floats,
    counts: NDArray[np.int64],
    usual: float,
    tail: float,
) -> float:
    """How many times further than Student's t the slow tail of many effects reaches; at least 1.

    Each effect is divided by the standard deviation that the others leave. The tail is exponential beyond
    the largest twentieth, with a mean that so many tell; `squares`: moderated sums of squares; `usual`: the
    degrees of freedom of that t.
    """
    alone = (effects**2) * (counts / (counts - 1))[:, np.newaxis]
    others = (squares[:, np.newaxis] - alone) / (freedoms - 1)[:, np.newaxis]
    least = _MIN_LEFT * (squares / freedoms)[:, np.newaxis]
    values = effects * np.sqrt(counts / (counts - 1))[:, np.newaxis] / np.sqrt(np.maximum(others, least))
    ordered = np.sort(values[np.isfinite(values)])
    beyond = max(_FEWEST_IN_TAIL, len(ordered) // 20)
    start = float(ordered[-beyond - 1])
    excess = float(np.mean(ordered[-beyond:])) - start
    reach = start + excess * beyond * (math.pow(beyond / len(ordered) / tail, 1 / beyond) - 1)
    return max(1.0, reach / student_point(2 * tail, usual))


def moderation(variances: Sequence[float], freedoms: Sequence[int]) -> tuple[float, float]:
    """The variance that all have in common, and the degrees of freedom that it counts as beside each.

    The moments of the logarithms of the variances tell both (Smyth 2004, section 6.2): the more they differ
    beyond chance, the fewer degrees of freedom. KNOWN: they differ by no more than chance.
    """
    logs = [
        math.log(variance) - _digamma(freedom / 2) + math.log(freedom / 2)
        for variance, freedom in zip(variances, freedoms, strict=True)
    ]
    mean = math.fsum(logs) / len(logs)
    beyond = math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1)
    beyond -= math.fsum(_trigamma(freedom / 2) for freedom in freedoms) / len(freedoms)
    if beyond <= 0:
        return math.exp(mean), KNOWN
    half = _trigamma_inverse(beyond)
    return math.exp(mean + _digamma(half) - math.log(half)), min(2 * half, KNOWN)


def _digamma(x: float) -> float:
    """The derivative of log gamma: recurrence, and DLMF 5.11.2, https://dlmf.nist.gov/5.11#E2."""
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    return shift + math.log(x) - 1 / (2 * x) - y * (1 / 12 - y * (1 / 120 - y / 252))


def _trigamma(x: float) -> float:
    """The second derivative of log gamma: recurrence, and the derivative of DLMF 5.11.2."""
    shift = 0.0
    while x < 10:
        shift += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    return shift + 1 / x + y / 2 + y / x * (1 / 6 - y * (1 / 30 - y / 42))


def _trigamma_inverse(value: float) -> float:
    """The x with trigamma(x) = `value`, by halving on the logarithmic scale."""
    low, high = math.log(1e-8), math.log(1e8)
    for _ in range(80):
        half = (low + high) / 2
        low, high = (half, high) if _trigamma(math.exp(half)) > value else (low, half)
    return math.exp((low + high) / 2)
