"""Slowdowns since a date, and what changed with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wirespeed.fleet.estimates import LINK, NODE, Estimates, estimates
from wirespeed.fleet.judge import FleetVerdict, Outlier, decide
from wirespeed.fleet.topology import NO_TOPOLOGY, Topology
from wirespeed.fleet.window import FACTS, HistoryWindow, NodeFacts

MAX_NAMED = 3
"""Values of one fact that are named."""


@dataclass(frozen=True)
class FleetChange:
    """A figure whose usual time is another one now."""

    figure: str
    kind: str
    """The subject's kind: node, GPU, link."""
    ratio: float
    """The usual time now over the one before."""
    usual_s: float
    """The usual time now."""
    count: int
    """Number of subjects measured both before and now."""


@dataclass
class FleetDrift:
    """Changes since a date."""

    since: str
    verdict: FleetVerdict
    """Subjects that changed otherwise than those alike; ratios are to their own time before."""
    fleet: list[FleetChange] = field(default_factory=list)
    """Figures that changed for all, the largest change first."""
    changed: dict[str, list[str]] = field(default_factory=dict)
    """Changes by each finding's name: 'driver 570.1 -> 580.2'."""
    of_fleet: list[str] = field(default_factory=list)
    """The same of most nodes: 'driver 570.1 -> 580.2 on 97 of 100 nodes'."""


def drift(
    since: str,
    before: HistoryWindow,
    now: HistoryWindow,
    topology: Topology,
    least: float,
    false_alarms: float,
) -> FleetDrift:
    """Compares two windows: subjects against the change of those alike, and the change of all.

    What was usual for its subjects before is taken off each time, then what is left is judged as a fleet is.
    """
    olds = {
        (old.figure, old.kind, old.partners is None): old
        for old in estimates(replace(before, kinds={}), NO_TOPOLOGY, least)
        if old.spread
    }
    changes: list[Estimates] = []
    fleet: list[FleetChange] = []
    for figure, rows in now.by_figure():
        for old in (old for old in olds.values() if old.figure == figure):
            if old.kind == LINK and old.between_nodes:
                # Random pairs hardly ever meet twice.
                continue
            for change in estimates(_without(rows, old), topology, least):
                if change.kind == LINK and change.between_nodes:
                    continue
                ratio = math.exp(change.centre)
                usual = change.centre + old.centre
                changes.append(replace(change, centre=usual))
                if change.kind == old.kind and abs(change.centre) > math.log1p(least):
                    count = int(np.isfinite(change.effects).sum())
                    fleet.append(FleetChange(figure, old.kind, ratio, math.exp(usual), count))
    fleet.sort(key=lambda change: -abs(math.log(change.ratio)))
    return FleetDrift(since, decide(changes, topology, false_alarms, least), fleet)


def _without(rows: HistoryWindow, old: Estimates) -> HistoryWindow:
    """The times of the same subjects over what was usual for them before."""
    known = {
        name: float(effect)
        for name, effect in zip(old.names, old.effects, strict=True)
        if math.isfinite(effect)
    }
    usual = np.full(len(rows), math.nan)
    for place, (item, other, part) in enumerate(zip(rows.ones, rows.others, rows.parts, strict=True)):
        between = old.partners is not None
        if bool(other) == between and bool(part) == (old.kind != NODE):
            own = known.get(f"{item} {part}" if part else item, math.nan)
            usual[place] = own + (known.get(other, math.nan) if other else 0.0)
    kept = np.isfinite(usual)
    found = rows[kept]
    return replace(found, logs=found.logs - old.centre - usual[kept])


def add_causes(found: FleetDrift, before: NodeFacts, now: NodeFacts) -> None:
    """Adds changes of driver, MPI and kernel on the nodes of each finding, and on most nodes."""
    for finding in found.verdict.findings:
        found.changed[finding.name] = list(dict.fromkeys(_changes_of(finding, before, now)))
    every = Counter(line for node in sorted({*before} & {*now}) for line in _changes(node, before, now))
    nodes = len({*before} & {*now})
    found.of_fleet = [
        f"{line} on {count} of {nodes} nodes"
        for line, count in every.most_common(MAX_NAMED)
        if 2 * count > nodes
    ]


def _changes_of(outlier: Outlier, before: NodeFacts, now: NodeFacts) -> Iterator[str]:
    for node in outlier.nodes:
        yield from _changes(node, before, now)


def _changes(node: str, before: NodeFacts, now: NodeFacts) -> Iterator[str]:
    for name in FACTS:
        old, new = (facts.get(node, {}).get(name, set()) for facts in (before, now))
        if old and new and old != new:
            yield f"{name} {_listed(sorted(old))} -> {_listed(sorted(new))}"


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MAX_NAMED
    return ", ".join([*values[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])])
