"""How often a verdict on a fleet is right, under every kind of noise of noise.py (claims.py).

Fleets are made up as windows of times; nothing of the model that judges them is used to make them: a pair is
as slow as its slower end, its older hardware and the slowest switch on its way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from noise import KINDS, Noise

from wirespeed.fleet.judge import FleetVerdict, judge
from wirespeed.fleet.topology import NO_TOPOLOGY, Topology, topology_of
from wirespeed.fleet.window import HistoryWindow

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIKE = 0.01
"""Standard deviation between sound nodes."""
FIGURE = "pairing host 8 B, between nodes"


@dataclass(frozen=True)
class Fleet:
    """What is measured, and what is slow."""

    nodes: int
    rounds: int
    leaves: int = 0
    """Switches, with as many nodes each; 0: no topology."""
    slow_nodes: int = 0
    slow_leaves: int = 0
    by: float = 0.0
    """Excess time of what is slow."""
    days: int = 1
    """On which the rounds are spread."""


@dataclass
class Made:
    """A fleet's times, and what is slow in it: (kind, name)."""

    window: HistoryWindow
    topology: Topology
    faults: set[tuple[str, str]] = field(default_factory=set)


def make(fleet: Fleet, noise: Noise, seed: int) -> Made:
    """Each round is one launch of disjoint pairs."""
    random = np.random.default_rng(seed)
    nodes, rounds = fleet.nodes, fleet.rounds
    names = np.array([f"n{number:03d}" for number in range(nodes)], dtype=object)
    pairs = np.concatenate(_tournament(random, nodes, rounds))
    first, second = np.sort(pairs, axis=1).T
    launches = np.repeat(np.arange(rounds), nodes // 2)
    moments = launches / max(1, rounds - 1)
    days = np.minimum((moments * fleet.days).astype(np.int64), fleet.days - 1)
    old = noise.old_nodes(random, nodes)
    slower = np.zeros(nodes)
    # A node that is the only one of its hardware cannot be judged.
    bad = random.choice(np.flatnonzero(~old), fleet.slow_nodes, replace=False)
    slower[bad] = np.log1p(fleet.by)
    logs = np.log(1e-5) + noise.measured(random, launches, days, moments)
    own = random.normal(0, ALIKE, nodes)
    logs += own[first] + own[second] + np.maximum(slower[first], slower[second])
    logs += np.log1p(noise.old) * (old[first] | old[second])
    topology, faults = NO_TOPOLOGY, {("node", str(names[place])) for place in bad}
    if fleet.leaves:
        each = nodes // fleet.leaves
        lines = [
            f"SwitchName=leaf{k} Nodes=n[{k * each:03d}-{k * each + each - 1:03d}]"
            for k in range(fleet.leaves)
        ]
        topology = topology_of("\n".join([*lines, f"SwitchName=core Switches=leaf[0-{fleet.leaves - 1}]"]))
        bad_leaves = random.choice(fleet.leaves, fleet.slow_leaves, replace=False)
        through = np.isin(first // each, bad_leaves) | np.isin(second // each, bad_leaves)
        logs += np.log1p(fleet.by) * through
        faults |= {("switch", f"leaf{place}") for place in bad_leaves}
    count = len(logs)
    empty = np.full(count, "", dtype=object)
    window = HistoryWindow(
        np.full(count, FIGURE, dtype=object),
        names[first],
        names[second],
        empty,
        np.array([f"round {launch}" for launch in launches], dtype=object),
        20000 + days + moments / 24,
        logs,
        {str(name): "old CPU" if is_old else "new CPU" for name, is_old in zip(names, old, strict=True)},
    )
    return Made(window, topology, faults)


def _tournament(random: np.random.Generator, nodes: int, rounds: int) -> list[NDArray[np.int64]]:
    """Rounds of disjoint pairs: nobody meets another twice before meeting all others."""
    found: list[NDArray[np.int64]] = []
    while len(found) < rounds:
        order, rest = random.permutation(nodes), np.arange(nodes - 1)
        for turn in random.permutation(nodes - 1):
            if len(found) == rounds:
                return found
            circle = np.append(np.roll(rest, turn), nodes - 1)
            found.append(order[np.stack([circle[: nodes // 2], circle[: nodes // 2 - 1 : -1]], axis=1)])
    return found


def subjects(verdict: FleetVerdict) -> set[tuple[str, str]]:
    return {(finding.kind, finding.name) for finding in verdict.findings}


def counts(fleet: Fleet, noise: Noise, repetitions: int) -> tuple[int, int, int, int, int]:
    """Fleets with something wrong named, wrong names, faults found, faults, fleets with suspects."""
    wrong_fleets = wrong = found = faults = suspects = 0
    for seed in range(repetitions):
        made = make(fleet, noise, seed)
        verdict = judge(made.window, made.topology)
        named = subjects(verdict)
        wrong_fleets += bool(named - made.faults)
        wrong += len(named - made.faults)
        found += len(named & made.faults)
        faults += len(made.faults)
        suspects += bool(verdict.suspects)
    return wrong_fleets, wrong, found, faults, suspects


SOUND = (Fleet(8, 12), Fleet(64, 8), Fleet(512, 8))
SLOW = (
    Fleet(8, 3, slow_nodes=1, by=0.3),
    Fleet(8, 12, slow_nodes=1, by=0.3),
    Fleet(64, 3, slow_nodes=1, by=0.1),
    Fleet(64, 8, slow_nodes=1, by=0.1),
)
SWITCHES = tuple(Fleet(16 * leaves, 8, leaves, slow_leaves=1, by=0.3) for leaves in (6, 8, 16))
HEAD = """| noise, in % | sound fleets of 8, 64, 512 nodes: wrong names \
| found, in %: +30 % of 8 nodes, 3 and 12 rounds | +10 % of 64 nodes, 3 and 8 rounds \
| a switch +30 %, of 6, 8, 16 | precision |
|---|---|---|---|---|---|"""


def table(repetitions: int) -> Iterator[str]:
    """Sound fleets with anything named, faults that are found, and the share of right names."""
    yield from HEAD.split("\n")
    for name, noise in KINDS.items():
        yield row(name, noise, repetitions)


def row(name: str, noise: Noise, repetitions: int) -> str:
    """A line of the table."""
    sound = [counts(fleet, noise, repetitions) for fleet in SOUND]
    slow = [counts(fleet, noise, repetitions) for fleet in SLOW]
    leaves = [counts(fleet, noise, repetitions) for fleet in SWITCHES]
    right = sum(found for _, _, found, _, _ in (*slow, *leaves))
    wrong = sum(number for _, number, _, _, _ in (*slow, *leaves))
    cells = [
        f"{name}: {noise.words}",
        ", ".join(str(fleets) for fleets, *_ in sound),
        _shares(slow[:2]),
        _shares(slow[2:]),
        _shares(leaves),
        f"{right / max(1, right + wrong):.3f}",
    ]
    return f"| {' | '.join(cells)} |"


def _shares(results: list[tuple[int, int, int, int, int]]) -> str:
    return ", ".join(_share(found, faults) for _, _, found, faults, _ in results)


def _share(count: float, of: int) -> str:
    """In percent: '100', '99.5'."""
    return f"{100 * count / of:.1f}".replace("100.0", "100")


SMALL = {
    **{f"{nodes} nodes": Fleet(nodes, 12, slow_nodes=1) for nodes in (2, 4, 8, 16)},
    **{f"{count} switches": Fleet(4 * count, 12, count, slow_leaves=1) for count in (2, 3, 4)},
}
"""What is slow in a small fleet."""
SMALL_NOISES = ("normal", "late", "common-effect")


def small(repetitions: int) -> Iterator[str]:
    """What small fleets can tell, under that kind of noise that hides most."""
    yield "| one slow of | wrong names | found: +10 % | +30 % | +100 % |"
    yield "|---|---|---|---|---|"
    for name, fleet in SMALL.items():
        shares = np.array([_of_small(fleet, KINDS[noise], repetitions) for noise in SMALL_NOISES])
        worst = [shares[:, 0].max(), *shares[:, 1:].min(axis=0)]
        yield f"| {name} | {' | '.join(_share(float(share), 1) for share in worst)} |"


def _of_small(fleet: Fleet, noise: Noise, repetitions: int) -> list[float]:
    """Shares of fleets, sound or not, with wrong names, and of faults that are found."""
    sound = replace(fleet, slow_nodes=0, slow_leaves=0)
    slow = [counts(replace(fleet, by=by), noise, repetitions) for by in (0.1, 0.3, 1.0)]
    wrong = max(fleets for fleets, *_ in (counts(sound, noise, repetitions), *slow))
    return [wrong / repetitions, *(hits / faults for _, _, hits, faults, _ in slow)]
