"""Limits that the next two launches of a healthy machine stay below, figure by figure and group by group.

A limit is as far from the median of the launches seen as these differ, or as launches of such paths do on
other machines, whichever is more: few launches do not show a rare slow mode. It is no further than that.
For users: docs/checking.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.judge.model import FEWEST_LEARNT, MIN_SPREAD, LaunchId, Side, common, deviation, odd_launches
from wirespeed.judge.spreads import REACH, Spread
from wirespeed.statistics.samples import median
from wirespeed.statistics.student import BOUND_ALARMS, KNOWN, ONE_BOUND_ALARMS, bounded_exp, student_point

ENOUGH_LAUNCHES = 10
"""So many tell it by themselves."""
FEWEST_SIZES = 3
"""Fewer sizes have no median of their own."""
LEAST_OF_A_GROUP, LEAST_OF_A_FIGURE = 0.05, 0.10
"""Slowdowns that no limit is below: a reboot costs 1 to 2 %."""
QUIET, QUIET_PATHS, QUIETEST_LIMIT = 0.03, 0.03, 0.08
"""Where launches differ by no more, and such paths elsewhere neither, the limit is no further: a slowdown by
a tenth is found."""
WIDE = 1.5
"""A limit that is further than this factor from the usual may hide twice the time."""


@dataclass(frozen=True)
class Limit:
    """Limit of one figure, or of a group's median."""

    usual: float
    """Median of the launches, in seconds; of a group the share of its figures' usual times."""
    highest: float
    """The next two launches are not both above it."""
    spread: float
    """Standard deviation between launches, without the odd one."""
    odd: tuple[tuple[LaunchId, float], ...] = ()
    """A launch that lies apart, which is not learnt from, and its time over that of the others."""


def figure_limit(side: Side, usual: Spread) -> Limit | None:
    """Of the launches of one figure; None of fewer than FEWEST_LEARNT."""
    stated = usual.figure
    if bounded_exp(REACH * usual.group) <= WIDE:
        stated = min(stated, math.log(WIDE) / REACH)
    logs = {name: math.log(launch.median) for name, launch in side.items()}
    return _limit(logs, stated, math.log1p(LEAST_OF_A_FIGURE), ONE_BOUND_ALARMS)


def group_limit(sides: Sequence[Side], usual: Spread, of: int = 1) -> Limit | None:
    """Of the median over a group's figures, in units of their usual times; None of too few of them.

    `of`: groups that are learnt together, any of which raises a false alarm.
    """
    if len(sides) < FEWEST_SIZES:
        return None
    centres = [median(math.log(launch.median) for launch in side.values()) for side in sides]
    effects = common(sides, centres)
    limit = _limit(
        effects, usual.group, math.log1p(LEAST_OF_A_GROUP), max(ONE_BOUND_ALARMS, BOUND_ALARMS / of)
    )
    if limit and limit.spread <= QUIET and usual.group <= QUIET_PATHS:
        seen = max(bounded_exp(log) for name, log in effects.items() if name not in dict(limit.odd))
        most = max(limit.usual * (1 + QUIETEST_LIMIT), seen)
        return Limit(limit.usual, min(limit.highest, most), limit.spread, limit.odd)
    return limit


def known_limits(sides: Sequence[Side], spread: float) -> list[Limit]:
    """Of figures whose standard deviation between launches is known: one launch breaks a limit.

    All limits of a healthy machine hold but for BOUND_ALARMS of its launches.
    """
    z = student_point(2 * BOUND_ALARMS / max(len(sides), 1), KNOWN)
    limits = []
    for side in sides:
        logs = [math.log(launch.median) for launch in side.values()]
        within = [variance for launch in side.values() if (variance := launch.variance) is not None]
        own = math.fsum(within) / len(within) if within else 0.0
        known = math.sqrt((spread**2 + own) * (1 + 1 / len(logs)))
        usual = median(logs)
        limits.append(Limit(bounded_exp(usual), bounded_exp(max(usual + z * known, *logs)), known))
    return limits


def _limit(logs: dict[LaunchId, float], stated: float, least: float, alarms: float) -> Limit | None:
    """`alarms`: the share of pairs of launches of a healthy machine that may both be above it."""
    if len(logs) < FEWEST_LEARNT:
        return None
    names, values = [*logs], [*logs.values()]
    odd = {names[launch.number - 1]: launch.ratio for launch in odd_launches(values, 0, 0.0)}
    kept = [log for name, log in logs.items() if name not in odd]
    usual, spread = median(kept), max(deviation(kept), MIN_SPREAD)
    # Of normal noise, to 4 %: both of two launches have the same errors of the median and the deviation
    # before them, so that these count twice.
    reach = student_point(2 * math.sqrt(alarms), (len(logs) - 1) / 2) * math.sqrt(1 + math.pi / len(logs))
    away = max(least, reach * spread, REACH * stated if len(logs) < ENOUGH_LAUNCHES else 0.0)
    return Limit(bounded_exp(usual), bounded_exp(max(usual + away, *kept)), spread, tuple(odd.items()))
