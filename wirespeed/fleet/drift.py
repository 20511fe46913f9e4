"""What became slower since a date, and what changed with it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wirespeed.fleet.estimates import LINK, Estimates, estimates
from wirespeed.fleet.judge import FleetVerdict, Outlier, decide
from wirespeed.fleet.topology import Topology
from wirespeed.fleet.window import FACTS, Facts, Window
from wirespeed.statistics.two_way import median_of

MOST_NAMED = 3
"""Values of one fact that are named."""


@dataclass(frozen=True)
class FleetChange:
    """A figure whose usual time is another one now."""

    figure: str
    kind: str
    """Of what it is a figure: node, GPU, link."""
    ratio: float
    """The usual time now over the one before."""
    usual_s: float
    """The usual time now."""
    count: int
    """How many were measured both before and now."""


@dataclass
class FleetDrift:
    """Changes since a date."""

    since: str
    verdict: FleetVerdict
    """What changed otherwise than those alike; ratios are to its own time before."""
    fleet: list[FleetChange] = field(default_factory=list)
    """What changed for all, the largest change first."""
    changed: dict[str, list[str]] = field(default_factory=dict)
    """Of each finding's name: 'driver 570.1 -> 580.2'."""
    of_fleet: list[str] = field(default_factory=list)
    """The same of most nodes: 'driver 570.1 -> 580.2 on 97 of 100 nodes'."""


def drift(
    since: str, before: Window, now: Window, topology: Topology, least: float, false_alarms: float
) -> FleetDrift:
    """Compares two windows: subjects against the change of those alike, and the change of all."""
    olds = {
        (one.figure, one.kind, one.partners is None): one
        for one in estimates(before, topology, least, false_alarms)
    }
    changes: list[Estimates] = []
    fleet: list[FleetChange] = []
    for new in estimates(now, topology, least, false_alarms):
        old = olds.get((new.figure, new.kind, new.partners is None))
        # Random pairs hardly ever meet twice.
        if old is None or (new.kind == LINK and " - " in "".join(new.names[:1])):
            continue
        change = _difference(old, new)
        if change is None:
            continue
        changes.append(change)
        ratio = math.exp(median_of(change.effects) + new.centre - old.centre)
        if new.partners is None:
            # The centre of a figure of single nodes is in their effects already.
            ratio = math.exp(median_of(change.effects))
        if abs(math.log(ratio)) > math.log1p(least):
            fleet.append(FleetChange(new.figure, new.kind, ratio, math.exp(new.centre), len(change.names)))
    fleet.sort(key=lambda one: -abs(math.log(one.ratio)))
    return FleetDrift(since, decide(changes, topology, least, false_alarms), fleet)


def _difference(old: Estimates, new: Estimates) -> Estimates | None:
    """Of those measured in both windows; None of none."""
    places = {name: place for place, name in enumerate(old.names)}
    both = [(places[name], place) for place, name in enumerate(new.names) if name in places]
    both = [(a, b) for a, b in both if np.isfinite(old.errors[a]) and np.isfinite(new.errors[b])]
    if not both:
        return None
    before, now = (np.array(column, dtype=np.int64) for column in zip(*both, strict=True))
    return replace(
        new,
        names=[new.names[place] for place in now],
        effects=new.effects[now] - old.effects[before],
        errors=np.hypot(new.errors[now], old.errors[before]),
        counts=new.counts[now] + old.counts[before],
        partners=None if new.partners is None else new.partners[now],
    )


def add_causes(found: FleetDrift, before: Facts, now: Facts) -> None:
    """What of driver, MPI and kernel changed on the nodes of each finding, and on most nodes."""
    for one in found.verdict.findings:
        found.changed[one.name] = list(dict.fromkeys(_changes_of(one, before, now)))
    every = Counter(line for node in sorted({*before} & {*now}) for line in _changes(node, before, now))
    nodes = len({*before} & {*now})
    found.of_fleet = [
        f"{line} on {count} of {nodes} nodes"
        for line, count in every.most_common(MOST_NAMED)
        if 2 * count > nodes
    ]


def _changes_of(one: Outlier, before: Facts, now: Facts) -> Iterator[str]:
    for node in one.nodes:
        yield from _changes(node, before, now)


def _changes(node: str, before: Facts, now: Facts) -> Iterator[str]:
    for name in FACTS:
        old, new = (facts.get(node, {}).get(name, set()) for facts in (before, now))
        if old and new and old != new:
            yield f"{name} {_listed(sorted(old))} -> {_listed(sorted(new))}"


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MOST_NAMED
    return ", ".join([*values[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
