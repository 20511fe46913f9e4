"""How much longer each node, GPU, link and switch takes than those alike, figure by figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wirespeed.fleet.topology import NetworkSwitch, Topology
from wirespeed.fleet.window import Window
from wirespeed.statistics.comparison import convincing
from wirespeed.statistics.outliers import excess
from wirespeed.statistics.two_way import FEWEST_PARTNERS, TwoWay, median_of, two_way

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

NODE, GPU, LINK, SWITCH = "node", "GPU", "link", "switch"
Subject = tuple[str, str]
"""Kind and name: ('node', 'n17'), ('GPU', 'n17 GPU 0'), ('link', 'n17 - n23'), ('switch', 'leaf3')."""


@dataclass(frozen=True)
class Estimates:
    """One figure of many of a kind: those that are compared with each other."""

    figure: str
    kind: str
    names: Sequence[str]
    """Of the subjects."""
    effects: Floats
    """Natural logarithms of times, or of factors of the time; only their differences count."""
    errors: Floats
    """Standard error of each, as far as known by itself; infinite where nothing can be said."""
    centre: float
    """Logarithm of the seconds of the usual one."""
    counts: Places
    """Measurements behind each."""
    partners: Places | None = None
    """Of each node: how many others it was measured with; None: measured alone."""

    @property
    def subjects(self) -> list[Subject]:
        return [(self.kind, name) for name in self.names]


def estimates(window: Window, topology: Topology, least: float, false_alarms: float) -> Iterator[Estimates]:
    """Of every figure of some days. `least`, `false_alarms`: what tells that a switch is slow (judge.py)."""
    for figure, rows in window.by_figure():
        alone = rows.others == ""
        whole = rows.parts == ""
        if len(nodes := rows[alone & whole]):
            yield _alone(figure, NODE, nodes.ones.tolist(), nodes)
        if len(parts := rows[alone & ~whole]):
            yield from _of_parts(figure, parts)
        if len(pairs := rows[~alone]):
            yield from _of_pairs(figure, pairs, topology, least, false_alarms)


def _alone(figure: str, kind: str, names: Sequence[str], rows: Window) -> Estimates:
    errors = np.zeros(len(rows))
    return Estimates(figure, kind, list(names), rows.logs, errors, median_of(rows.logs), rows.counts)


def _of_parts(figure: str, rows: Window) -> Iterator[Estimates]:
    """GPUs, and links between two GPUs of a node."""
    links = np.array(["-" in part for part in rows.parts], dtype=bool)
    for kind, those in ((GPU, rows[~links]), (LINK, rows[links])):
        if len(those):
            names = [f"{one} {part}" for one, part in zip(those.ones, those.parts, strict=True)]
            yield _alone(figure, kind, names, those)


def _of_pairs(
    figure: str, rows: Window, topology: Topology, least: float, false_alarms: float
) -> Iterator[Estimates]:
    """Nodes, switches and links from the times of pairs."""
    nodes = rows.nodes
    number = {name: place for place, name in enumerate(nodes)}
    first = np.array([number[name] for name in rows.ones], dtype=np.int64)
    second = np.array([number[name] for name in rows.others], dtype=np.int64)
    ends = [np.bincount(end, rows.counts, len(nodes)) for end in (first, second)]
    counts = (ends[0] + ends[1]).astype(np.int64)
    logs = rows.logs
    fit = two_way(first, second, logs, len(nodes))
    for level in topology.levels:
        found = _switches(figure, level, topology, fit, number, counts)
        if found is None:
            continue
        yield found
        through = _excess_of_slow(found, least, false_alarms)
        for name, more in through.items():
            inside = np.zeros(len(nodes), dtype=bool)
            inside[[number[node] for node in topology.switches[name].nodes if node in number]] = True
            logs = logs - more * (inside[first] | inside[second])
        if through:
            fit = two_way(first, second, logs, len(nodes))
    yield Estimates(figure, NODE, nodes, fit.effects, fit.effect_errors, fit.centre, counts, fit.partners)
    names = [f"{one} - {other}" for one, other in zip(rows.ones, rows.others, strict=True)]
    yield Estimates(figure, LINK, names, fit.pair_effects, fit.pair_errors, fit.centre, rows.counts)


def _switches(
    figure: str,
    level: Sequence[NetworkSwitch],
    topology: Topology,
    fit: TwoWay,
    number: Mapping[str, int],
    counts: Places,
) -> Estimates | None:
    """The median effect of the nodes below each switch of a level; of a higher one, that of its switches."""
    names, effects, errors, behind = [], [], [], []
    for switch in level:
        sets = [topology.switches[name].nodes for name in switch.below] or [(node,) for node in switch.nodes]
        those = [[number[node] for node in nodes if node in number] for nodes in sets]
        known = [near for near in those if any(np.isfinite(fit.effect_errors[near]))]
        if len(known) < FEWEST_PARTNERS:
            continue
        middles = np.array([median_of(fit.effects[near]) for near in known])
        own = np.array([np.min(fit.effect_errors[near]) for near in known])
        names.append(switch.name)
        effects.append(median_of(middles))
        errors.append(median_of(own) * (np.pi / 2 / len(known)) ** 0.5)
        behind.append(sum(int(counts[near].sum()) for near in known))
    if not names:
        return None
    return Estimates(
        figure,
        SWITCH,
        names,
        np.array(effects),
        np.array(errors),
        fit.centre,
        np.array(behind, dtype=np.int64),
    )


def _excess_of_slow(found: Estimates, least: float, false_alarms: float) -> dict[str, float]:
    """Slow switches, and the logarithm of how many times longer everything through them takes."""
    judged = excess(found.effects, found.errors)
    if judged is None:
        return {}
    slow = convincing(judged.p_values(least).tolist(), false_alarms)
    return {name: float(judged.effects[place]) for place, name in enumerate(found.names) if slow[place]}
