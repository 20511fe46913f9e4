"""Several launches of one figure combined: the median of their medians, with an interval across launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, structs

from wirespeed.job.records import in_unit
from wirespeed.judge.model import LaunchId, LaunchMedian
from wirespeed.results.model import Entry, Health
from wirespeed.results.parts import (
    SHORTEST,
    Baseline,
    Checked,
    Cores,
    Interval,
    NewErrors,
    Start,
    TeamFigure,
    Throttled,
    Timed,
    Times,
    rates,
)
from wirespeed.statistics.samples import CONFIDENCE, median, median_interval

Number = TypeVar("Number", int, float)
Value = TypeVar("Value")


class Combined(Entry, frozen=True, kw_only=True, tag="launches"):
    """One figure of a path at a size from several launches; derived when read, never in a file.

    `times`: the median of the launches' medians, the smallest and the largest of them, and from three
    launches on the ends of a 95 % interval. It is made of the launches' medians as that of one launch is made
    of its batches' medians, so it includes what launches differ by.
    """

    each: tuple[Entry, ...]
    """The figure of every launch, in their order."""

    def to_builtins(self) -> dict[str, Any]:
        """As JSON shows it: of each launch what tells how it differs from the others."""
        shown = {name: value for name, value in msgspec.to_builtins(self).items() if name not in _OF_ONE}
        names = ("launch", "seconds", "precision", "samples", "stopped", "at")
        each = ({name: to_builtin[name] for name in names} for to_builtin in msgspec.to_builtins(self.each))
        return {**shown, "launches": self.launches, "each": [*each]}


_OF_ONE = ("step", "launch", "stopped", "histogram", "iterations_per_sample", "clock")
"""Members that mean nothing for several launches together."""


def combined(entries: Sequence[Entry]) -> Entry:
    """The launches of one path and size as one figure; a single launch as it is."""
    if len(entries) == 1:
        return entries[0]
    each = tuple(sorted(entries, key=lambda entry: entry.launch))
    last = each[-1]
    medians = [entry.seconds for entry in each]
    seconds = median(medians)
    ends = _interval(each, seconds)
    low, high = ends or (None, None)
    elapsed = [entry.elapsed_s for entry in each if entry.elapsed_s is not None]
    times = Times(median=seconds, low=low, high=high, min=min(medians), max=max(medians))
    own: dict[str, Any] = {name: getattr(last, name) for name in Entry.__struct_fields__}
    return Combined(
        **own
        | {
            "each": each,
            "times": times,
            "bytes_per_second": rates(last.amount, times),
            "derived": [
                structs.replace(derived, median=in_unit(derived.unit, derived.amount, seconds))
                for derived in last.derived
            ],
            "confidence": CONFIDENCE if ends else None,
            "precision": (ends[1] - ends[0]) / 2 / seconds if ends else None,
            "samples": sum(entry.samples for entry in each),
            "batches": sum(entry.batches for entry in each),
            "iterations": sum(entry.iterations for entry in each),
            "stopped": "",
            "histogram": None,
            "checked": Checked(
                iterations=sum(entry.checked.iterations for entry in each),
                batches=sum(entry.checked.batches for entry in each),
                of_batches=sum(entry.checked.of_batches for entry in each),
                seconds=_known_sum(entry.checked.seconds for entry in each),
                rerun_steps=_known_sum(entry.checked.rerun_steps for entry in each),
                bytes=sum(entry.checked.bytes for entry in each),
                conserved=last.checked.conserved,
            ),
            "teams": _teams(each),
            "baseline": _baseline(each),
            "cores": max((entry.cores for entry in each if entry.cores), key=_waiting, default=None),
            "start": max((entry.start for entry in each if entry.start), key=_skew, default=None),
            "elapsed_s": sum(elapsed) if elapsed else None,
            "clock": None,
            "impossible": [why for entry in each for why in entry.impossible],
        }
    )


def _interval(each: Sequence[Timed], seconds: float) -> tuple[float, float] | None:
    """The interval of the launches' median, which reaches half a clock step at least to both sides.

    So far reaches every launch's own; the end nearest to its median tells how far that is. None for fewer
    than three launches, and where all read the same by an unknown clock.
    """
    ends = median_interval([figure.seconds for figure in each], seconds)
    own = [figure for figure in each if figure.times.low and figure.times.high]
    reach = [away for figure in own for away in (figure.seconds - figure.low, figure.high - figure.seconds)]
    half_step = min(reach, default=0.0)
    if ends is None or (ends[0] == ends[1] and not half_step):
        return None
    return min(ends[0], seconds - half_step), max(ends[1], seconds + half_step)


def _known_sum(amounts: Iterable[Number | None]) -> Number | None:
    """Their sum; None if none is known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def launch(entry: Entry) -> LaunchMedian:
    """The figure of one launch, as statistics need it; another tool's is taken as exact within a launch."""
    known = entry.precision is not None or entry.foreign
    low, high = (entry.low, entry.high) if known else (None, None)
    return LaunchMedian(entry.seconds, low, high, entry.at)


def by_launch(found: Iterable[tuple[Entry, Value]]) -> dict[LaunchId, Value]:
    """What was made of each entry, by its launch: figures of one launch share what slowed it.

    The key: its run, its number, and how many of the same run and number came before.
    """
    named: dict[LaunchId, Value] = {}
    copies = Counter[tuple[str, int]]()
    for entry, value in found:
        name = entry.run, entry.launch
        named[entry.run, entry.launch, copies[name]] = value
        copies[name] += 1
    return named


def with_earlier(before: Health | None, health: Health) -> Health:
    """The health of a path's hosts in a further launch, with what went wrong in those before it added up.

    Counted and watched is what was so in all of them.
    """
    if before is None:
        return health
    throttled: dict[tuple[str, ...], Throttled] = {}
    for throttle in (*before.throttled, *health.throttled):
        key = throttle.host, throttle.place, throttle.reason
        throttled[key] = _together(throttled[key], throttle) if key in throttled else throttle
    return structs.replace(
        health,
        errors=_added([*before.errors, *health.errors]),
        corrected=_added([*before.corrected, *health.corrected]),
        throttled=[*throttled.values()],
        counted=[kind for kind in health.counted if kind in before.counted],
        watched=[place for place in health.watched if place in before.watched],
        notes=[*dict.fromkeys([*before.notes, *health.notes])],
        seconds=before.seconds + health.seconds,
    )


def _added(errors: Iterable[NewErrors]) -> list[NewErrors]:
    """One for each place and kind."""
    added: dict[tuple[str, ...], NewErrors] = {}
    for error in errors:
        key = error.host, error.place, error.what
        added[key] = structs.replace(error, count=error.count + (added[key].count if key in added else 0))
    return [*added.values()]


def _together(old: Throttled, new: Throttled) -> Throttled:
    """The same clocks held back for the same reason in two launches."""
    known = {
        name: sum(filter(None, (getattr(old, name), getattr(new, name))))
        for name in ("seconds", "times")
        if (getattr(old, name), getattr(new, name)) != (None, None)
    }
    return structs.replace(new, **known, before=old.before or new.before, after=old.after or new.after)


def _waiting(cores: Cores) -> tuple[bool, float]:
    """A key to sort by, of the launch whose ranks lacked CPUs most."""
    return cores.contended, cores.waited or 0.0


def _skew(start: Start) -> float:
    return start.skew_s or 0.0


def _baseline(each: Sequence[Entry]) -> Baseline | UnsetType:
    """The median over the launches, with an interval as that of the figure."""
    found = [entry.baseline for entry in each if entry.baseline]
    if not found:
        return UNSET
    medians = [baseline.seconds for baseline in found]
    seconds = median(medians)
    low, high = _interval(found, seconds) or (None, None)
    if low is not None and low <= SHORTEST:
        low = high = None
    times = Interval(median=seconds, low=low, high=high, min=min(medians))
    return structs.replace(found[-1], times=times)


def _teams(each: Sequence[Entry]) -> list[TeamFigure]:
    """The median over the launches for each team of the last one; teams have no interval across launches."""
    found = []
    for team in each[-1].teams:
        seconds = sorted(
            team_figure.seconds
            for entry in each
            for team_figure in entry.teams
            if team_figure.name == team.name
        )
        times = Interval(median=median(seconds), min=seconds[0])
        found.append(structs.replace(team, times=times))
    return found
