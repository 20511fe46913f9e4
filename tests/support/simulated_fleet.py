"""Fleets made up: log-normal noise, and faults whose places are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wirespeed.fleet.judge import FleetVerdict, judge
from wirespeed.fleet.topology import Topology, topology_of
from wirespeed.fleet.window import HistoryWindow

NOISE = 0.01
"""Standard deviation between measurements of one pair or node: wirespeed.statistics.comparison.SPREAD."""
ALIKE = 0.01
"""Standard deviation between sound nodes."""
TIMES_ALONE = 3
"""Launches of every node by itself."""


@dataclass
class Planted:
    """A fleet's times, and what is slow in it: (kind, name)."""

    window: HistoryWindow
    topology: Topology
    faults: set[tuple[str, str]] = field(default_factory=set)


def simulate(
    seed: int,
    nodes: int = 5000,
    *,
    by: float = 0.10,
    slow_nodes: int = 3,
    slow_links: int = 2,
    slow_switches: int = 1,
    rounds: int = 8,
    ports: int = 40,
    noise: float = NOISE,
) -> Planted:
    """One figure of each node alone, and one of pairs in random disjoint rounds; `by`: of each fault.

    A slow node is slow alone and with all partners, a link only for its pair, a switch for all pairs
    through it.
    """
    random = np.random.default_rng(seed)
    names = np.array([f"n{number:04d}" for number in range(nodes)], dtype=object)
    leaves = [
        f"SwitchName=leaf{at // ports} Nodes=n[{at:04d}-{min(at + ports, nodes) - 1:04d}]"
        for at in range(0, nodes, ports)
    ]
    topology = topology_of("\n".join([*leaves, f"SwitchName=core Switches=leaf[0-{len(leaves) - 1}]"]))
    leaf = np.arange(nodes) // ports
    bad_switches = random.choice(len(leaves), slow_switches, replace=False)
    sound = np.flatnonzero(~np.isin(leaf, bad_switches))
    bad_nodes = random.choice(sound, slow_nodes, replace=False)
    own = random.normal(0, ALIKE, nodes)
    own[bad_nodes] += np.log1p(by)

    orders = [random.permutation(nodes)[: nodes // 2 * 2].reshape(-1, 2) for _ in range(rounds)]
    rows = [(order, place) for place, order in enumerate(orders)]
    usable = np.flatnonzero(~np.isin(orders[0], bad_nodes).any(axis=1))
    bad_links = orders[0][random.choice(usable, slow_links, replace=False)]
    # They are measured again, with others.
    if slow_links:
        others = orders[0][random.choice(usable, min(len(usable), 10), replace=False)]
        again = np.unique(np.concatenate([bad_links, others]), axis=0)
        rows += [(again, rounds), (again, rounds + 1)]
    pairs = np.sort(np.concatenate([order for order, _ in rows]), axis=1)
    launches = np.concatenate([np.full(len(order), place) for order, place in rows])
    first, second = pairs.T
    times = np.log(1e-5) + own[first] + own[second] + random.normal(0, noise, len(pairs))
    times += np.log1p(by) * (np.isin(leaf[first], bad_switches) | np.isin(leaf[second], bad_switches))
    for link in np.sort(bad_links, axis=1):
        times[(pairs == link).all(axis=1)] += np.log1p(by)
    alone = np.log(1e-3) + np.tile(own, TIMES_ALONE) + random.normal(0, noise, TIMES_ALONE * nodes)

    labels = [f"alone {place}" for place in range(TIMES_ALONE) for _ in range(nodes)]
    labels += [f"round {place}" for place in launches]
    count = len(alone) + len(pairs)
    window = HistoryWindow(
        np.array(["copy h2h 16 MiB"] * len(alone) + ["pingpong host 8 B"] * len(pairs), dtype=object),
        np.concatenate([np.tile(names, TIMES_ALONE), names[first]]),
        np.concatenate([np.full(len(alone), "", dtype=object), names[second]]),
        np.full(count, "", dtype=object),
        np.array(labels, dtype=object),
        np.full(count, 20000.0),
        np.concatenate([alone, times]),
    )
    faults = {("node", str(names[at])) for at in bad_nodes}
    faults |= {("switch", f"leaf{at}") for at in bad_switches}
    faults |= {("link", " - ".join(sorted(names[link]))) for link in bad_links}
    return Planted(window, topology, faults)


def named(planted: Planted) -> set[tuple[str, str]]:
    """What is found."""
    return subjects(judge(planted.window, planted.topology))


def subjects(verdict: FleetVerdict) -> set[tuple[str, str]]:
    """(kind, name) of every finding."""
    return {(one.kind, one.name) for one in verdict.findings}
