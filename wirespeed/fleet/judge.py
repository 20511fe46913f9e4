"""What stands out of a fleet: all nodes, GPUs, links and switches tested together."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from wirespeed.fleet.estimates import LINK, NODE, SWITCH, Estimates, Subject, estimates
from wirespeed.fleet.topology import NO_TOPOLOGY, Topology
from wirespeed.fleet.window import Window
from wirespeed.statistics.comparison import convincing
from wirespeed.statistics.outliers import Excess, excess, simes
from wirespeed.statistics.two_way import FEWEST_PARTNERS, median_of

FALSE_ALARMS = 0.01
"""At most this share of what is named is named by chance."""
LEAST = 0.02
"""Excess times up to this share count as none."""


@dataclass(frozen=True)
class OutlierEvidence:
    """One figure in which a subject is slow."""

    figure: str
    ratio: float
    """Its time over that of the usual one; of drift, over what it took before, against the others."""
    low: float
    """Lower end of the 95 % interval of the ratio."""
    high: float
    p: float
    seconds: float
    """What it takes; of drift, NaN."""
    usual_s: float
    """What the usual one takes."""
    measured: int
    """Measurements behind it."""
    partners: int | None = None
    """Other nodes that it was measured with; None: alone."""
    slow_with: int | None = None
    """With how many of them it was slow; None: with all."""


@dataclass(frozen=True)
class Outlier:
    """A subject that stands out."""

    kind: str
    name: str
    nodes: tuple[str, ...]
    """Nodes that are slower by it."""
    evidence: tuple[OutlierEvidence, ...]
    """The figures in which it is slow, the slowest first."""
    p: float
    """Of all its figures together (Simes)."""
    cost: float
    """Time lost: the largest excess times the nodes that have it."""

    @property
    def worst(self) -> OutlierEvidence:
        return self.evidence[0]


class _Test(NamedTuple):
    p: float
    estimates: Estimates
    excess: Excess
    place: int


@dataclass
class FleetVerdict:
    """What was found, of how many."""

    findings: list[Outlier] = field(default_factory=list)
    tested: dict[str, int] = field(default_factory=dict)
    """How many of each kind were judged."""
    figures: int = 0
    distances: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each node and figure: its time over the usual one's."""
    untold: dict[str, int] = field(default_factory=dict)
    """Nodes with too few partners to be told from them, and how many those are."""
    usual: dict[str, float] = field(default_factory=dict)
    """Seconds of each figure that the usual one takes."""


def judge(
    window: Window,
    topology: Topology = NO_TOPOLOGY,
    least: float = LEAST,
    false_alarms: float = FALSE_ALARMS,
) -> FleetVerdict:
    """What is slow in some days, at a false discovery rate over all that was judged."""
    return decide(list(estimates(window, topology, least, false_alarms)), topology, least, false_alarms)


def decide(found: Sequence[Estimates], topology: Topology, least: float, false_alarms: float) -> FleetVerdict:
    """The tests of all figures together.

    A subject's figures give one p value by Simes' rule; Benjamini and Hochberg's procedure over the subjects
    then says which are slow, so that at most the share `false_alarms` of the named subjects is wrong; in the
    same way the figures of a named subject are chosen.
    """
    verdict = FleetVerdict(figures=len({one.figure for one in found}))
    partners: dict[str, dict[str, int]] = {}
    figures: Counter[Subject] = Counter()
    slow_in: dict[Subject, list[_Test]] = defaultdict(list)
    for one in found:
        judged = excess(one.effects, one.errors)
        if one.kind == NODE:
            _note_distances(verdict, one)
            if one.partners is not None:
                partners[one.figure] = dict(zip(one.names, one.partners.tolist(), strict=True))
        if judged is None:
            continue
        usable = np.flatnonzero(np.isfinite(judged.errors)).tolist()
        figures.update((one.kind, one.names[place]) for place in usable)
        p_values = judged.p_values(least)
        for place in np.flatnonzero(p_values < 1).tolist():
            slow_in[one.kind, one.names[place]].append(_Test(float(p_values[place]), one, judged, place))
    verdict.tested = dict(Counter(kind for kind, _ in figures))
    subjects = list(slow_in)
    p_values_of = {subject: [test.p for test in slow_in[subject]] for subject in subjects}
    together = [simes(p_values_of[subject], figures[subject]) for subject in subjects]
    # All others have a p value of 1.
    named = convincing([*together, *[1.0] * (len(figures) - len(subjects))], false_alarms)
    for subject, p, slow in zip(subjects, together, named, strict=False):
        if slow:
            chosen = convincing(
                [*p_values_of[subject], *[1.0] * (figures[subject] - len(slow_in[subject]))], false_alarms
            )
            shown = [test for test, sure in zip(slow_in[subject], chosen, strict=False) if sure]
            verdict.findings.append(_finding(subject, p, shown, topology, len(verdict.distances)))
    verdict.findings = _joined(verdict.findings, partners)
    verdict.findings.sort(key=lambda one: (-one.cost, one.kind, one.name))
    return verdict


def _joined(findings: Sequence[Outlier], partners: Mapping[str, Mapping[str, int]]) -> list[Outlier]:
    """Slow links that meet in one node as that node: it was slow on some days only, or has a bad cable.

    `partners`: of each figure and node, how many others it was measured with.
    """
    links = [one for one in findings if one.kind == LINK and len(one.nodes) == 2]
    ends = Counter(node for one in links for node in one.nodes)
    named = {one.name for one in findings if one.kind == NODE}
    nodes = [
        node for node, count in ends.items() if count >= FEWEST_PARTNERS or (node in named and count > 1)
    ]
    found = [one for one in findings if one not in links or not any(node in nodes for node in one.nodes)]
    for node in sorted({*nodes} - named):
        of_node = [one for one in links if node in one.nodes]
        slowest = [one.worst for one in of_node]
        worst = sorted(slowest, key=lambda one: one.ratio)[len(slowest) // 2]
        all_partners = partners.get(worst.figure, {}).get(node)
        measured = sum(one.measured for one in slowest)
        evidence = replace(worst, measured=measured, partners=all_partners, slow_with=len(of_node))
        p = min(one.p for one in of_node)
        found.append(Outlier(NODE, node, (node,), (evidence,), p, evidence.ratio - 1))
    return found


def _note_distances(verdict: FleetVerdict, one: Estimates) -> None:
    usable = np.isfinite(one.errors)
    if one.partners is not None:
        few = np.flatnonzero(one.partners < FEWEST_PARTNERS).tolist()
        verdict.untold |= {one.names[place]: int(one.partners[place]) for place in few}
    if not usable.any():
        return
    middle = median_of(one.effects[usable])
    verdict.usual[one.figure] = math.exp(min(one.centre, 700.0))
    for place in np.flatnonzero(usable).tolist():
        ratio = math.exp(min(float(one.effects[place]) - middle, 700.0))
        verdict.distances.setdefault(one.names[place], {})[one.figure] = ratio


def _finding(subject: Subject, p: float, tests: Sequence[_Test], topology: Topology, fleet: int) -> Outlier:
    evidence = sorted((_evidence(*test) for test in tests), key=lambda one: -one.ratio)
    kind, name = subject
    if kind == SWITCH:
        nodes = topology.switches[name].nodes
        share = float(len(nodes))
    elif kind == LINK:
        nodes = tuple(name.split(" - ")) if " - " in name else (name.split(" ")[0],)
        share = 1 / max(1, fleet - 1)
    else:
        nodes, share = (name.split(" ")[0],), 1.0
    return Outlier(kind, name, nodes, tuple(evidence), p, (evidence[0].ratio - 1) * share)


def _evidence(p: float, one: Estimates, judged: Excess, place: int) -> OutlierEvidence:
    ratio = math.exp(min(float(judged.effects[place]), 700.0))
    low, high = judged.interval(place)
    usual = math.exp(min(one.centre, 700.0))
    partners = None if one.partners is None else int(one.partners[place])
    return OutlierEvidence(
        one.figure, ratio, low, high, p, usual * ratio, usual, int(one.counts[place]), partners
    )


def exclude(findings: Iterable[Outlier]) -> list[str]:
    """Nodes that a scheduler should leave out: those slow by themselves or by their GPUs, no switch's."""
    return sorted({node for one in findings if one.kind in (NODE, "GPU") for node in one.nodes})
