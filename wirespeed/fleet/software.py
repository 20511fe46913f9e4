"""Software of slow nodes that most others do not run: no part of their kind, as it can be changed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from wirespeed.fleet.judge import MEDIAN_ERROR, Outlier, exclude
from wirespeed.fleet.names import compress, natural
from wirespeed.fleet.window import FACTS, NodeFacts
from wirespeed.statistics.samples import median
from wirespeed.statistics.student import student_tail

FEWEST_NODES = 3
"""Fewer nodes with the same software are no group."""
SURE = 0.001
"""P value of a difference that is told."""


def unlike_most(findings: Iterable[Outlier], facts: NodeFacts) -> list[str]:
    """'driver 570.1 on n[3,9], which stand out; 580.2 on 95 of 100 nodes'; where most nodes have the same."""
    slow, lines = exclude(findings), []
    for name in FACTS:
        values = _values(facts, name)
        usual, count = Counter(values.values()).most_common(1)[0] if values else ("", 0)
        if 2 * count <= len(values):
            continue
        others: dict[str, list[str]] = defaultdict(list)
        for node in slow:
            if values.get(node, usual) != usual:
                others[values[node]].append(node)
        for value, nodes in others.items():
            stand = "stand" if len(nodes) > 1 else "stands"
            lines.append(
                f"{name} {value} on {compress(sorted(nodes, key=natural))}, which {stand} out; "
                f"{usual} on {count} of {len(values)} nodes"
            )
    return lines


def groups_apart(distances: Mapping[str, Mapping[str, float]], facts: NodeFacts, least: float) -> list[str]:
    """'driver 570.1 on 8 nodes takes 1.10 x the time of 580.2 on 8 nodes (pairing)'.

    For each fact, each value that FEWEST_NODES or more have against the most frequent one: the figure in
    which they differ most, by Student's t over the nodes. `distances`: time over the usual one's, by node
    and figure.
    """
    lines = []
    for name in FACTS:
        values = _values(facts, name)
        counts = Counter(value for node, value in values.items() if node in distances)
        often = [value for value, count in counts.most_common() if count >= FEWEST_NODES]
        for value in often[1:]:
            found = []
            for figure in dict.fromkeys(figure for known in distances.values() for figure in known):
                sides: dict[str, list[float]] = {often[0]: [], value: []}
                for node, known in distances.items():
                    if figure in known and values.get(node) in sides:
                        sides[values[node]].append(math.log(known[figure]))
                if min(map(len, sides.values())) >= FEWEST_NODES:
                    found.append((*_apart(*sides.values()), figure))
            real = [(log, figure) for p, log, figure in found if p * len(found) < SURE]
            log, figure = max(real, key=lambda one: abs(one[0]), default=(0.0, ""))
            if abs(log) > math.log1p(least):
                ratio = f"{math.exp(log):.2f} x the time of {often[0]} on {counts[often[0]]} nodes"
                lines.append(f"{name} {value} on {counts[value]} nodes takes {ratio} ({figure})")
    return lines


def _values(facts: NodeFacts, name: str) -> dict[str, str]:
    """Value of a fact, by node."""
    return {node: ", ".join(sorted(known[name])) for node, known in facts.items() if known.get(name)}


def _apart(usual: list[float], other: list[float]) -> tuple[float, float]:
    """P value and logarithm of the ratio of the medians."""
    both = [[value - median(side) for value in side] for side in (usual, other)]
    freedom = len(usual) + len(other) - 2
    variance = sum(value**2 for side in both for value in side) / freedom
    log = median(other) - median(usual)
    error = MEDIAN_ERROR * math.sqrt(variance * (1 / len(usual) + 1 / len(other)))
    return (student_tail(abs(log) / error, freedom) if error else float(not log)), log
