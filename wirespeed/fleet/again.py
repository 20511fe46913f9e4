"""Suspects that `fleet run` measures again, with enough sound nodes to tell them from their launch."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from wirespeed.fleet.estimates import LINK, SWITCH
from wirespeed.fleet.judge import Outlier
from wirespeed.fleet.observations import BETWEEN
from wirespeed.fleet.parts import COPIES, LINKS, FleetPart, FleetPlan, NodePairs

SUSPICIOUS = 0.1
"""The false discovery rate at which something is measured again."""
TIMES_AGAIN = 2
"""Launches: with the first one they are three."""
FEWEST_CONTROLS = 8
"""Other nodes that are measured with the suspects."""
MAX_LAUNCHES = 6


@dataclass(frozen=True)
class Suspected:
    """Node or pair that looked slow, too seldom to be named."""

    copying: set[str] = field(default_factory=set)
    """Nodes whose copies are slow."""
    inside: set[str] = field(default_factory=set)
    """Nodes whose own messages are slow."""
    between: set[str] = field(default_factory=set)
    """Nodes that are slow with others."""
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """NodePairs of nodes."""

    @property
    def count(self) -> int:
        """Nodes and pairs."""
        return len(self.copying | self.inside | self.between) + len(self.pairs)


def suspected(findings: Iterable[Outlier]) -> Suspected:
    """The nodes and pairs of findings."""
    found = Suspected()
    for finding in findings:
        if finding.kind == SWITCH:
            continue
        for evidence in finding.evidence:
            if finding.kind == LINK and len(finding.nodes) == 2:
                found.pairs.add((finding.nodes[0], finding.nodes[1]))
            elif evidence.figure.endswith(BETWEEN):
                found.between.update(finding.nodes)
            elif evidence.figure.startswith("copy"):
                found.copying.update(finding.nodes)
            else:
                found.inside.update(finding.nodes)
    return found


def parts_again(plan: FleetPlan, what: Suspected, answering: Sequence[str]) -> Iterator[FleetPart]:
    """Launches of the suspects with sound nodes, which are drawn at random."""
    chance = random.Random(f"{plan.seed} again")
    for name, title, nodes in (
        (COPIES, "copies", what.copying),
        (LINKS, "messages", what.inside if plan.ranks_alone > 1 else set()),
    ):
        if nodes & {*answering}:
            for number in range(TIMES_AGAIN):
                hosts = _with_controls(nodes, answering, chance)
                words = f"suspects by themselves again, {title}, {number + 1} of {TIMES_AGAIN}"
                yield FleetPart(
                    f"again-{name}-{number + 1}", words, each=plan.ranks_alone, like=name, hosts=hosts
                )
    rounds = _rounds(what, answering, chance)
    for number, pairs in enumerate(rounds):
        words = f"suspects with others again, {number + 1} of {len(rounds)}"
        yield FleetPart(f"again-round-{number + 1}", words, number, pairs=tuple(pairs))


def _with_controls(nodes: set[str], answering: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    others = [host for host in answering if host not in nodes]
    controls = {*chance.sample(others, min(len(others), max(FEWEST_CONTROLS, len(nodes))))}
    return tuple(host for host in answering if host in nodes or host in controls)


def _rounds(what: Suspected, answering: Sequence[str], chance: random.Random) -> list[NodePairs]:
    """Disjoint pairs: suspected pairs and nodes, each TIMES_AGAIN times, and controls."""
    here = {*answering}
    left = {pair: TIMES_AGAIN for pair in sorted(what.pairs) if here.issuperset(pair)}
    nodes = dict.fromkeys(sorted(what.between & here), TIMES_AGAIN)
    suspects = {*nodes, *(node for pair in left for node in pair)}
    sound = [host for host in answering if host not in suspects]
    rounds: list[NodePairs] = []
    while (any(left.values()) or any(nodes.values())) and len(rounds) < MAX_LAUNCHES:
        pairs: NodePairs = []
        free = chance.sample(sound, len(sound))
        for pair in sorted(left, key=lambda pair: -left[pair]):
            if left[pair] and not any({*pair} & {*known} for known in pairs):
                left[pair] -= 1
                pairs.append(pair)
        busy = {node for pair in pairs for node in pair}
        for node in sorted(nodes, key=lambda node: -nodes[node]):
            if nodes[node] and node not in busy and free:
                nodes[node] -= 1
                pairs.append((node, free.pop()))
        if not pairs:
            break
        for _ in range(max(FEWEST_CONTROLS // 2, len(pairs))):
            if len(free) > 1:
                pairs.append((free.pop(), free.pop()))
        rounds.append(pairs)
    return rounds
