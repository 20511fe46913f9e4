"""Outliers of a fleet: switches first, then nodes and GPUs, then links."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from wirespeed.fleet.estimates import GPU, LINK, NODE, SWITCH, Estimates, KindTime, Subject, estimates
from wirespeed.fleet.topology import NO_TOPOLOGY, Topology
from wirespeed.fleet.window import HistoryWindow
from wirespeed.statistics.outliers import FEWEST_TIMES, Slow
from wirespeed.statistics.student import FLEET_ALARMS, bounded_exp, convincing, simes, student_point

MIN_SLOWDOWN = 0.02
"""Excess times up to this share count as none."""
ORDER = (SWITCH, NODE, GPU, LINK)
"""Each kind is judged by itself, the widest first."""
MOST_SLOW = 1 / 3
"""Where more of the nodes would be named, what is usual is no longer most nodes': none is."""
MEDIAN_ERROR = 1.2533141373155003
"""Standard error of a median over that of a mean."""


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
    """Time that the subject takes; of drift, NaN."""
    usual_s: float
    """Time that the usual one takes."""
    measured: int
    """Independent times behind it."""
    partners: int | None = None
    """Other nodes that it was measured with; None: alone."""
    slow_times: int | None = None
    """In how many of its times it was slow, if not in most."""
    days: float | None = None
    """Slow in so many latest days; None: in all."""


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
    """P-value of all its figures together (Simes)."""
    cost: float
    """Time lost: the largest excess times the nodes that have it."""

    @property
    def worst(self) -> OutlierEvidence:
        return self.evidence[0]


_Test = tuple[Slow, Estimates, int]
"""How slow a subject is, in which figure, and the place of its name there."""


@dataclass
class FleetVerdict:
    """Slow nodes, links and switches, of how many."""

    findings: list[Outlier] = field(default_factory=list)
    suspects: list[Outlier] = field(default_factory=list)
    """Slow in fewer independent times than name them."""
    tested: dict[str, int] = field(default_factory=dict)
    """Number of subjects judged, by kind."""
    figures: int = 0
    distances: dict[str, dict[str, float]] = field(default_factory=dict)
    """Time over the usual one's, of each node and figure; of a node's GPUs the longest."""
    untold: dict[str, str] = field(default_factory=dict)
    """Subjects that cannot be judged in any figure, and why."""
    few_times: list[str] = field(default_factory=list)
    """Nodes that were measured, in every figure, fewer than FEWEST_TIMES times, and are no suspects."""
    usual: dict[str, float] = field(default_factory=dict)
    """Seconds of each figure that the usual one takes."""
    kinds: list[KindTime] = field(default_factory=list)
    """Kinds of hardware that differ from the most frequent one."""
    of_fleet: list[str] = field(default_factory=list)
    """Nodes that lie apart, if they are more than MOST_SLOW of all: then it is the fleet that differs."""
    smallest: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Slowdowns found in 90 % of cases, by kind: of the best figure and of the worst."""


def judge(
    window: HistoryWindow,
    topology: Topology = NO_TOPOLOGY,
    least: float = MIN_SLOWDOWN,
    false_alarms: float = FLEET_ALARMS,
) -> FleetVerdict:
    """Judges some days at a false discovery rate."""
    return decide(list(estimates(window, topology, least)), topology, false_alarms, least)


def decide(
    found: Sequence[Estimates], topology: Topology, false_alarms: float, least: float = MIN_SLOWDOWN
) -> FleetVerdict:
    """The tests of all figures together, for switches, nodes, GPUs and links one after the other.

    A subject's figures give one p value by Simes' rule; Benjamini and Hochberg's procedure over the subjects
    of a kind then says which are slow, so that at most the share `false_alarms` of the named subjects is
    wrong; in the same way the figures of a named subject are chosen. Figures in which a subject has fewer
    than FEWEST_TIMES independent times make it a suspect.
    """
    verdict = FleetVerdict(figures=len({each.figure for each in found}))
    for each in found:
        _note(verdict, each, least)
    ever, often = ({subject for each in found for subject in _subjects(each, sure)} for sure in (False, True))
    for each in found:
        for name, why in each.untold.items():
            if (each.kind, name) not in ever:
                verdict.untold.setdefault(name, why)
    for kind in ORDER:
        of_kind = [each for each in found if each.kind == kind]
        sure, figures = _named(of_kind, topology, false_alarms, len(verdict.distances), sure=True)
        once, _ = _named(of_kind, topology, false_alarms, len(verdict.distances), sure=False)
        known = {finding.name for finding in sure}
        verdict.findings += sure
        verdict.suspects += [finding for finding in once if finding.name not in known]
        if figures:
            verdict.tested[kind] = len(figures)
            level = false_alarms / len(figures) / max(figures.values())
            ratios = [each.smallest(level) for each in of_kind if _subjects(each, sure=True)]
            verdict.smallest[kind] = (min(ratios), max(ratios))
    suspected = {node for suspect in verdict.suspects for node in suspect.nodes}
    verdict.few_times = sorted({name for kind, name in ever - often if kind == NODE} - suspected)
    verdict.findings = _without_ends(verdict.findings, verdict.findings)
    verdict.suspects = _without_ends(verdict.suspects, verdict.findings)
    slow = exclude(verdict.findings)
    if len(slow) > MOST_SLOW * len(verdict.distances):
        verdict.of_fleet = slow
        verdict.findings = [finding for finding in verdict.findings if finding.kind == SWITCH]
    for findings in (verdict.findings, verdict.suspects):
        findings.sort(key=lambda finding: (-finding.cost, finding.kind, finding.name))
    return verdict


def _subjects(each: Estimates, sure: bool) -> list[Subject]:
    """Those that a figure can judge; `sure`: those with enough times."""
    return [
        (each.kind, each.names[place])
        for place in each.usable.tolist()
        if not sure or each.times[place] >= FEWEST_TIMES
    ]


def _named(
    found: Sequence[Estimates], topology: Topology, false_alarms: float, fleet: int, sure: bool
) -> tuple[list[Outlier], Counter[Subject]]:
    """What is slow among the subjects of a kind, and in how many figures each was tested."""
    figures = Counter(subject for each in found for subject in _subjects(each, sure))
    tests: dict[Subject, list[_Test]] = defaultdict(list)
    for each in found:
        for place, slow in each.slow.items():
            if (not sure or each.times[place] >= FEWEST_TIMES) and math.isfinite(each.effects[place]):
                tests[each.kind, each.names[place]].append((slow, each, place))
    p_values = {subject: [slow.p for slow, *_ in of] for subject, of in tests.items()}
    together = {subject: simes(of, figures[subject]) for subject, of in p_values.items()}
    named = convincing([*together.values()], false_alarms, len(figures))
    findings = []
    for subject, p in compress(together.items(), named):
        chosen = convincing(p_values[subject], false_alarms, figures[subject])
        findings.append(_finding(subject, p, [*compress(tests[subject], chosen)], topology, fleet))
    return findings, figures


def _without_ends(findings: Sequence[Outlier], known: Sequence[Outlier]) -> list[Outlier]:
    """Links whose end is slow in some of its times or days are that node's."""
    some = {
        outlier.name
        for outlier in known
        if outlier.kind == NODE and any(e.slow_times or e.days for e in outlier.evidence)
    }
    return [finding for finding in findings if finding.kind != LINK or not some & {*finding.nodes}]


def _note(verdict: FleetVerdict, each: Estimates, least: float) -> None:
    """Distances of nodes, and kinds of hardware that differ."""
    verdict.kinds += [kind for kind in each.kinds if abs(math.log(kind.ratio)) > math.log1p(least)]
    if each.kind == SWITCH:
        return
    for name, effect in zip(each.names, each.effects.tolist(), strict=True):
        for node in _nodes(each.kind, name):
            known = verdict.distances.setdefault(node, {})
            if each.kind != LINK and math.isfinite(effect):
                known[each.figure] = max(known.get(each.figure, 0.0), bounded_exp(effect))
    if each.kind != LINK:
        verdict.usual[each.figure] = bounded_exp(each.centre)


def _nodes(kind: str, name: str) -> tuple[str, ...]:
    """Nodes of a subject that is no switch: 'n4', 'n4 GPU 0', 'n4 - n5'."""
    return tuple(name.split(" - ")) if kind == LINK and " - " in name else (name.split(" ")[0],)


def _finding(subject: Subject, p: float, tests: Sequence[_Test], topology: Topology, fleet: int) -> Outlier:
    evidence = sorted((_evidence(*test) for test in tests), key=lambda each: -each.ratio)
    kind, name = subject
    if kind == SWITCH:
        nodes = topology.switches[name].nodes
        share = float(len(nodes))
    else:
        nodes, share = _nodes(kind, name), 1 / max(1, fleet - 1) if kind == LINK else 1.0
    return Outlier(kind, name, nodes, tuple(evidence), p, (evidence[0].ratio - 1) * share)


def _evidence(slow: Slow, each: Estimates, place: int) -> OutlierEvidence:
    assert each.spread
    ratio = bounded_exp(slow.effect)
    often = max(1, slow.times if slow.slow_times is None else slow.slow_times)
    own = MEDIAN_ERROR * each.deviation / often**0.5
    usual_error = each.spread.deviation / max(1, len(each.usable)) ** 0.5
    freedom = max(2.0, each.spread.freedom)
    half = student_point(0.05, freedom) * float(np.hypot(own, usual_error))
    low, high = (bounded_exp(slow.effect + side) for side in (-half, half))
    usual = bounded_exp(each.centre)
    partners = None if each.partners is None else int(each.partners[place])
    measured = slow.times if each.kind != SWITCH else int(each.times[place])
    return OutlierEvidence(
        *(each.figure, ratio, low, high, slow.p, usual * ratio, usual),
        *(measured, partners, slow.slow_times, slow.lately),
    )


def exclude(findings: Iterable[Outlier]) -> list[str]:
    """Nodes that a scheduler should leave out: those slow by themselves or by their GPUs, no switch's."""
    return sorted({node for finding in findings if finding.kind in (NODE, GPU) for node in finding.nodes})
