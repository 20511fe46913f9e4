"""Bounds on a healthy machine's next launches, for many figures at once.

Launches of a machine differ by what is common to all that a launch measures, by what is common to a path's
sizes, and by what is each figure's own. All three are taken from the launches seen. Figures, paths and the
machine have bounds: what slows a path shows in the median of its sizes, whose noise is far less than that of
the worst size, and what slows the machine in the median of its paths. For users: docs/checking.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.judge.model import MIN_SPREAD, LaunchId, Side
from wirespeed.statistics.student import KNOWN, NORMAL_95, POWER, student_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FALSE_ALARMS = 0.005
"""Part of a healthy machine's next pairs of launches that break any of its bounds; about twice as many where
the noise of launches is not normal."""
ALARMS_OF_ONE = 0.01
"""Part of its next launches that do, where the spread is known."""
PAIR = 2
"""So many launches, one after the other, must break a bound: one alone may be late."""
FEWEST_LAUNCHES = 5
"""Fewer do not tell how far the next one may lie from them."""
FEWEST_FOR_SHAPE = 3
"""Fewer effects have no shape."""
FEWEST_PATHS = 3
"""Fewer do not tell what they have in common from what is each one's own."""
FEWEST_SIZES = 3
"""Fewer sizes have no median of their own."""
_SHARES = {"machine": 0.1, "path": 0.7, "figure": 0.2}
"""Parts of the false alarms. Many paths' median hardly varies, so few suffice to find what slows them all."""
_DRAWS = 5_000
_TAIL_OF_EACH = 0.65
"""Power of a pair's probability that each of its launches is given in the tail: 1/2 if they were independent
and the tail were known, more because few effects tell it."""
_TINY = 1e-18
_MANY_ROWS = 20
"""So many variances tell what most of them are."""
_FEWEST_IN_TAIL = 8
_FEWEST_FOR_TAIL = 40
"""Fewer effects have no tail that could be estimated."""
_FEWEST_FOR_HEAVY = 150
"""Fewer effects are taken to have an exponential tail."""
_HEAVIEST = 0.9
ONE_SIDED = 4.0
"""Odds, before any launch is seen, that launches are late by exponential delays, and not normal."""
ALLOWANCE = 0.05
"""Up to so much, as a share of the time, a bound allows for delays that few launches do not show. It hardly
hides a slowdown by a tenth."""
_MIN_LEFT = 0.1
"""Least part of a variance that stays when one effect is left out."""
SAYS_NOTHING = 100.0
"""A bound further away than this factor is none."""
_AS_NORMAL = 200
"""From so many degrees of freedom on Student's t is drawn as normal, which is faster."""


@dataclass(frozen=True)
class Highest:
    """Bounds that the next launch of an unchanged machine stays below."""

    figures: list[float | None]
    """Seconds of each; None: fewer than FEWEST_LAUNCHES, and no spread known, or bounds that say nothing."""
    usual: dict[int, float] = field(default_factory=dict)
    """Seconds that the figures of these numbers usually take."""
    paths: dict[Hashable, float] = field(default_factory=dict)
    """Median over a path's figures of the time as a share of the usual one."""
    machine: float | None = None
    """Median of that over all paths."""
    spreads: dict[int, float] = field(default_factory=dict)
    """Standard deviations of the launches of the figures with a usual time, as far as launches tell them."""
    path_spreads: dict[Hashable, float] = field(default_factory=dict)
    machine_spread: float | None = None


def highest_next(
    figures: Sequence[Side],
    paths: Sequence[Hashable],
    spread: float | None = None,
) -> Highest:
    """Bounds of which none is broken twice by the next two launches, but for FALSE_ALARMS of such pairs.

    `paths`: whose figure each is. `spread`: the standard deviation between launches, if it is known; only
    figures have bounds then, and one launch breaks them.
    """
    bounds: list[float | None] = [None] * len(figures)
    told = [
        at for at, side in enumerate(figures) if side and (spread is not None or len(side) >= FEWEST_LAUNCHES)
    ]
    if not told:
        return Highest(bounds)
    logs = _logs([figures[at] for at in told])
    within = np.array([_within(figures[at]) for at in told])
    of_path, names = _numbered([paths[at] for at in told])
    means = np.nanmean(logs, axis=1)
    usual = dict(zip(told, np.exp(means).tolist(), strict=True))
    if spread is not None:
        z = student_point(2 * ALARMS_OF_ONE / len(told), KNOWN)
        deviations = np.sqrt((spread**2 + within) * (1 + 1 / np.isfinite(logs).sum(axis=1)))
        for at, bound in zip(told, _above(logs, z * deviations).tolist(), strict=True):
            bounds[at] = math.exp(bound)
        return Highest(bounds, usual, spreads=dict(zip(told, deviations.tolist(), strict=True)))
    halves, spreads = _half_widths(logs, within, of_path)
    says = halves["figure"] < math.log(SAYS_NOTHING)
    for at, bound, useful in zip(told, _above(logs, halves["figure"]).tolist(), says.tolist(), strict=True):
        bounds[at] = math.exp(bound) if useful else None
    common = _by_path(logs - means[:, np.newaxis], of_path)
    slowest: dict[Hashable, float] = {}
    if "path" in halves:
        highest = np.exp(_above(common, halves["path"])).tolist()
        counts = np.bincount(of_path[says], minlength=len(names)).tolist()
        sizes = zip(names, highest, counts, strict=True)
        slowest = {name: most for name, most, count in sizes if count >= FEWEST_SIZES and most < SAYS_NOTHING}
    machine = _above(_shared(common)[np.newaxis], halves["machine"]) if "machine" in halves else None
    return Highest(
        bounds,
        usual,
        slowest,
        None if machine is None else math.exp(machine[0]),
        dict(zip(told, spreads["figure"].tolist(), strict=True)),
        dict(zip(names, spreads["path"].tolist(), strict=True)) if slowest else {},
        None if machine is None else float(spreads["machine"][0]),
    )


def _numbered(paths: Sequence[Hashable]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """The number of each figure's path, and the paths."""
    numbers = {path: number for number, path in enumerate(dict.fromkeys(paths))}
    return np.array([numbers[path] for path in paths]), [*numbers]


def _above(logs: Floats, half: Floats) -> Floats:
    """So far above each row's mean, and no launch seen is above it."""
    highest: Floats = np.maximum(np.nanmean(logs, axis=1) + half, np.nanmax(logs, axis=1))
    return highest


def _by_path(rows: Floats, of_path: NDArray[np.int64]) -> Floats:
    """Medians over the rows of each path."""
    return np.stack([_medians(rows[of_path == number]) for number in range(of_path.max() + 1)])


def _shared(common: Floats) -> Floats:
    """Median over the paths in each launch; NaN where too few have one."""
    shared: Floats = np.where(np.isfinite(common).sum(axis=0) >= FEWEST_PATHS, _medians(common), np.nan)
    return shared


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


@dataclass(frozen=True)
class _Level:
    """Draws of the next two launches' effects on all figures, all paths, or the machine."""

    share: float
    usual: Floats
    """Draws of Student's t as it is."""
    normal: Floats
    """The same, stretched to the tail seen."""
    delayed: Floats
    """The same, where some may be delays."""
    variance: Floats
    judged: NDArray[np.bool_]
    """The ones that have bounds."""

    def furthest(self, draws: Floats) -> Floats:
        """The largest excess of each draw in both launches, in standard deviations."""
        chosen = slice(None) if self.judged.all() else self.judged
        twice = draws[:, :, chosen].min(axis=0)
        furthest: Floats = np.max(twice / np.sqrt(self.variance[chosen]), axis=1)
        return furthest

    @property
    def spread(self) -> Floats:
        """Standard deviation with which POWER of the pairs would have both launches above -NORMAL_95 of it.

        It is larger where few launches tell it.
        """
        lowest = np.quantile(self.usual.min(axis=0), 1 - POWER, axis=0)
        spread: Floats = np.maximum(-lowest / NORMAL_95, MIN_SPREAD)
        return spread


def _half_widths(
    logs: Floats, within: Floats, of_path: NDArray[np.int64]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """How far above its mean the next launch of the machine, each path, and each figure may lie; spreads.

    The next launch is drawn many times from what the launches tell, each variance with the uncertainty that
    few launches leave it (Student's t). The bounds of a level are as many standard deviations from the mean
    as its share of the false alarms asks for; together they are broken by FALSE_ALARMS of the draws
    (balanced sets: Beran 1988, doi:10.1080/01621459.1988.10478649). Draws that may be exponential delays
    widen a bound up to ALLOWANCE.
    """
    levels = {name: level for name, level in _levels(logs, within, of_path) if level.judged.any()}
    near = far = _balanced([*levels.values()], [level.normal for level in levels.values()])
    if any(level.delayed is not level.normal for level in levels.values()):
        far = _balanced([*levels.values()], [level.delayed for level in levels.values()])
    widths = {}
    for (name, level), usual, late in zip(levels.items(), near, far, strict=True):
        deviations = np.sqrt(level.variance)
        widths[name] = np.maximum(usual * deviations, np.minimum(late * deviations, math.log1p(ALLOWANCE)))
    return widths, {name: level.spread for name, level in levels.items()}


def _levels(logs: Floats, within: Floats, of_path: NDArray[np.int64]) -> Iterator[tuple[str, _Level]]:
    """The machine's, where paths have something in common; then all paths', then all figures'."""
    distances = logs - np.nanmean(logs, axis=1, keepdims=True)
    common = _by_path(distances, of_path)
    shared = np.nan_to_num(_shared(common))
    dice = np.random.default_rng(1)
    usual = normal = delayed = np.zeros((PAIR, _DRAWS, 1))
    variance = np.full(1, _TINY)
    parts = [("path", common - shared, np.zeros(len(common)), np.zeros_like(of_path))]
    if shared.any():
        parts.insert(0, ("machine", shared[np.newaxis], np.zeros(1), np.zeros_like(of_path)))
    # A path's only figure has nothing of its own.
    least = within if len(of_path) > len(common) else np.zeros(len(of_path))
    has_median = np.bincount(of_path) >= FEWEST_SIZES
    shares = _SHARES if has_median.any() else {**_SHARES, "figure": 1 - _SHARES["machine"]}
    parts.append(("figure", distances - common[of_path], least, of_path))
    for name, effects, floor, rows in parts:
        drawn, late, seen, stretch = _drawn(dice, effects, floor, FALSE_ALARMS * shares[name])
        above = rows[: len(effects)]
        alike = delayed is normal and late is drawn
        usual = usual[:, :, above] + drawn / stretch
        normal = normal[:, :, above] + drawn
        delayed = normal if alike else delayed[:, :, above] + late
        variance = variance[above] + seen
        judged = has_median if name == "path" else np.ones(len(effects), dtype=bool)
        yield name, _Level(shares[name], usual, normal, delayed, variance, judged)


def _balanced(levels: Sequence[_Level], draws: Sequence[Floats]) -> list[float]:
    """Standard deviations of each level that at most FALSE_ALARMS of the draws exceed anywhere."""
    furthest = [level.furthest(drawn) for level, drawn in zip(levels, draws, strict=True)]
    ordered = [np.sort(values)[::-1] for values in furthest]
    ranks = [
        np.argsort(np.argsort(-values)) / level.share for level, values in zip(levels, furthest, strict=True)
    ]
    rank = float(np.quantile(np.min(ranks, axis=0), FALSE_ALARMS))
    return [float(values[int(rank * level.share)]) for level, values in zip(levels, ordered, strict=True)]


def _medians(rows: Floats) -> Floats:
    """Medians over the rows, without those that are NaN; NaN where all are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        medians: Floats = np.nanmedian(rows, axis=0)
    return medians


def _drawn(
    dice: np.random.Generator, effects: Floats, least: Floats, false_alarms: float
) -> tuple[Floats, Floats, Floats, float]:
    """Draws of each row's next effects, draws that may be delays, and each row's variance, at least `least`.

    Last the factor by which the draws are stretched.

    The rows' variances are moderated (Smyth 2004, doi:10.2202/1544-6115.1027), many of them so that late
    figures do not count (Phipson and others 2016, doi:10.1214/16-AOAS920). The draws follow Student's t,
    stretched to where many effects have a longer tail, which costs a degree of freedom. Those that may be
    delays are exponential ones in the share that _one_sided tells.
    """
    counts = np.isfinite(effects).sum(axis=1)
    freedoms = np.maximum(counts - 1, 1)
    effects = effects - np.nanmean(effects, axis=1, keepdims=True)
    squares = np.nansum(effects**2, axis=1)
    variances = np.maximum(np.maximum(squares / freedoms, least), _TINY)
    if len(effects) >= _MANY_ROWS:
        prior, prior_freedom = robust_moderation(variances, freedoms)
    elif len(effects) > 1:
        prior, prior_freedom = moderation(variances.tolist(), freedoms.tolist())
    else:
        prior, prior_freedom = 0.0, 0.0
    whole = freedoms + prior_freedom
    moderated: Floats = (freedoms * variances + prior_freedom * prior) / whole
    many = bool(counts.sum() >= _FEWEST_FOR_TAIL)
    known = np.maximum(whole - many, 1)
    # Both launches share what the mean and the variance of those seen are uncertain.
    drawn = dice.standard_normal((PAIR, _DRAWS, len(effects)))
    drawn += dice.standard_normal((_DRAWS, len(effects))) / np.sqrt(counts)
    few = known < _AS_NORMAL
    drawn[:, :, few] *= np.sqrt(known[few] / dice.chisquare(known[few], (_DRAWS, int(few.sum()))))
    stretch = 1.0
    if many:
        usual = min(float(np.median(known)), KNOWN)
        each = (false_alarms / len(effects)) ** _TAIL_OF_EACH
        stretch = _tail(effects, moderated * whole, whole, counts, usual, each)
    drawn *= stretch * np.sqrt(moderated)
    delayed = dice.random(_DRAWS) < _one_sided(effects, squares, counts)
    if not delayed.any():
        return drawn, drawn, moderated, stretch
    late = drawn.copy()
    scales = np.sqrt(moderated / np.maximum(squares / freedoms, _TINY))
    late[:, delayed] = _delays(dice, effects * scales[:, np.newaxis], counts, whole, int(delayed.sum()))
    return drawn, late, moderated, stretch


def _one_sided(effects: Floats, squares: Floats, counts: NDArray[np.int64]) -> float:
    """Probability that the rows are exponential delays behind a fastest one, and not normal.

    By the marginal likelihoods, where scales and locations are unknown (Berger, Pericchi and Varshavsky 1998,
    Sankhya A 60). They depend on how far below the mean the fastest one lies.
    """
    log_odds = math.log(ONE_SIDED)
    behind = counts * -np.nanmin(effects, axis=1)
    for count, square, total in zip(counts.tolist(), squares.tolist(), behind.tolist(), strict=True):
        if count < FEWEST_FOR_SHAPE or square < _TINY or total < math.sqrt(_TINY):
            continue
        half = (count - 1) / 2
        normal = math.lgamma(half) - half * math.log(math.pi * square) - (math.log(4 * count)) / 2
        log_odds += math.lgamma(count - 1) - math.log(count) - (count - 1) * math.log(total) - normal
    return 1 / (1 + math.exp(min(-log_odds, 700.0)))


def _delays(
    dice: np.random.Generator, effects: Floats, counts: NDArray[np.int64], freedoms: Floats, draws: int
) -> Floats:
    """Draws of each row's next effects, as exponential delays whose mean and start are not known."""
    fastest = np.nanmin(effects, axis=1)
    mean = counts * -fastest / np.maximum(counts - 1, 1)
    shape = draws, len(effects)
    mean = mean * freedoms / dice.standard_gamma(freedoms, shape)
    start = fastest - mean / counts * dice.standard_exponential(shape)
    drawn: Floats = start + mean * dice.standard_exponential((PAIR, *shape))
    return drawn


def _tail(
    effects: Floats,
    squares: Floats,
    freedoms: Floats,
    counts: NDArray[np.int64],
    usual: float,
    tail: float,
) -> float:
    """How many times further than Student's t the slow tail of many effects reaches; at least 1.

    Each effect is divided by the standard deviation that the others leave. `squares`: moderated sums of
    squares; `usual`: the degrees of freedom of that t.
    """
    alone = (effects**2) * (counts / (counts - 1))[:, np.newaxis]
    others = (squares[:, np.newaxis] - alone) / (freedoms - 1)[:, np.newaxis]
    least = _MIN_LEFT * (squares / freedoms)[:, np.newaxis]
    values = effects * np.sqrt(counts / (counts - 1))[:, np.newaxis] / np.sqrt(np.maximum(others, least))
    reach = _reach(np.sort(values[np.isfinite(values)]), tail)
    return max(1.0, reach / student_point(2 * tail, usual))


def _reach(ordered: Floats, tail: float) -> float:
    """The value that the share `tail` of such values lies beyond, far fewer than there are.

    The largest ones tell a generalised Pareto distribution by probability weighted moments (Hosking and
    Wallis 1987, doi:10.1080/00401706.1987.10488243), at least as heavy as an exponential one, which few
    values are taken for. The mean of so few is uncertain.
    """
    many = len(ordered) >= _FEWEST_FOR_HEAVY
    beyond = max(_FEWEST_IN_TAIL, len(ordered) // (20 if many else 100))
    start = float(ordered[-beyond - 1])
    excesses = ordered[-beyond:] - start
    mean = float(np.mean(excesses))
    steps = beyond * (math.pow(beyond / len(ordered) / tail, 1 / beyond) - 1)
    above = (np.arange(beyond, 0, -1) - 0.65) / beyond
    weighted = float(np.mean(above * excesses))
    heavy = min(2 - mean / (mean - 2 * weighted), _HEAVIEST) if many and mean > 2 * weighted else 0.0
    if heavy <= 0:
        return start + mean * steps
    return start + mean * (1 - heavy) * math.expm1(heavy * steps) / heavy


def robust_moderation(variances: Floats, freedoms: Floats) -> tuple[float, float]:
    """Answer of moderation() from the smaller half of many variances: what late figures raise does not count.

    Their tenth and their median are held against those of chi squared (Wilson and Hilferty 1931).
    """
    logs, freedom = np.log(variances), float(np.median(freedoms))
    cube = 2 / (9 * freedom)
    tenth, half = (3 * math.log(max(1 - cube + z * math.sqrt(cube), 0.05)) for z in (-1.2815515655, 0.0))
    low, middle = np.quantile(logs, [0.1, 0.5])
    beyond = (((middle - low) / (half - tenth)) ** 2 - 1) * _trigamma(freedom / 2)
    if beyond <= 0:
        return math.exp(middle - half), KNOWN
    return math.exp(middle - half), min(2 * _trigamma_inverse(float(beyond)), KNOWN)


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
