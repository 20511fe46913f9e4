"""Plans that `wirespeed fleet run` measures: every node by itself, then rounds of pairs of nodes."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from wirespeed.job.plan import Plan
from wirespeed.patterns.pairs import Pairs, meets
from wirespeed.statistics.stopping import Stopping

FEW_NODES, ROUNDS, ROUNDS_OF_FEW = 16, 8, 12
"""Among few nodes, more rounds tell what differs."""
SMALLEST_COPY = 4096
"""Bytes; a shorter copy takes as long as its call."""


NodePairs = list[tuple[str, str]]


@dataclass(frozen=True)
class FleetPlan:
    """Measurements on groups of hosts."""

    hosts: tuple[str, ...]
    common: Plan
    """Settings that all launches share; the paths and sizes are those between nodes."""
    rounds: int = 8
    at_once: int | None = None
    """Most pairs that are measured at the same time; None: all of a round."""
    seed: int = 1
    node_paths: tuple[str, ...] = ("host",)
    """Paths of messages within a node."""
    node_sizes: tuple[int, ...] = (8, 64 << 20)
    gpus: int = 0
    """Number of a node's GPUs."""

    @property
    def most_at_once(self) -> int:
        """Pairs that are measured at the same time."""
        return min(self.at_once or len(self.hosts), len(self.hosts) // 2)

    @property
    def ranks_alone(self) -> int:
        """Ranks of a node that is measured by itself: one for each GPU, else two."""
        return self.gpus or 2

    @property
    def figures(self) -> dict[str, object]:
        """Options that the figures depend on, by name, as JSON has them."""
        return {
            "hosts": list(self.hosts),
            "seed": self.seed,
            "at-once": self.at_once,
            "paths": list(self.common.paths),
            "sizes": list(self.common.sizes),
            "node-paths": list(self.node_paths),
            "node-sizes": list(self.node_sizes),
        }

    def plan(self, part: FleetPart, hosts: Sequence[str]) -> Plan | None:
        """A part's plan for the hosts that answer, by their ranks; None: nothing to measure with them."""
        if part.round is not None:
            places = {host: rank for rank, host in enumerate(hosts)}
            silent = {*self.hosts} - {*hosts}
            pairs = [pair for pair in part.pairs if places.keys() >= {*pair}]
            if not part.pairs:
                pairs = pairs_of(part.round, self.hosts, self.seed, silent)
            ranks = [(places[name], places[other]) for name, other in pairs]
            common = self.common
            return self._pairing(hosts, [ranks], common.paths, common.sizes, at_once=self.at_once)
        if (part.like or part.name) == LINKS:
            phases = _within(len(hosts), self.ranks_alone)
            plan = self._pairing(hosts, phases, self.node_paths, self.node_sizes, self.ranks_alone)
            return plan and replace(plan, options=(*plan.options, ("within_hosts", True)))
        return replace(
            self._on(hosts, self.ranks_alone),
            pattern="copy",
            paths=(),
            sizes=tuple(size for size in self.node_sizes if size >= SMALLEST_COPY) or self.node_sizes,
            options=(("node", None),),
            reported_phase_only=True,
        )

    def probe(self, hosts: Sequence[str]) -> Plan:
        """The shortest launch of these hosts, each by itself: do they answer?"""
        plan = self._pairing(hosts, _within(len(hosts), 2), ("host",), (8,), 2)
        assert plan
        return replace(plan, stopping=Stopping(loops=1, warmup=0), evidence=False, device="cpu")

    def _on(self, hosts: Sequence[str], each: int) -> Plan:
        return replace(self.common, hosts=tuple(hosts), ranks=len(hosts) * each)

    def _pairing(
        self,
        hosts: Sequence[str],
        phases: Iterable[Sequence[tuple[int, int]]],
        paths: tuple[str, ...],
        sizes: tuple[int, ...],
        each: int = 1,
        at_once: int | None = None,
    ) -> Plan | None:
        words = [",".join(f"{number}-{other}" for number, other in phase) for phase in phases]
        if not all(words):
            return None
        options = (("rank_pairs", "/".join(words)), ("at_once", at_once))
        plan = self._on(hosts, each)
        return replace(plan, pattern="pairing", paths=paths, sizes=sizes, options=options)


@dataclass(frozen=True)
class FleetPart:
    """One launch for each of its paths."""

    name: str
    """Begins the names of its result files."""
    title: str
    round: int | None = None
    """Counts from 0; None: every node by itself."""
    each: int = 1
    """Ranks of a node."""
    like: str = ""
    """The name of the part that is repeated; '': none."""
    hosts: tuple[str, ...] = ()
    """Only these; (): all."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of a round; (): those of its number."""

    def of(self, hosts: Sequence[str]) -> list[str]:
        """The hosts that take part."""
        wanted = {*self.hosts, *(host for pair in self.pairs for host in pair)}
        return [host for host in hosts if not wanted or host in wanted]


COPIES, LINKS = "node-copies", "node-links"


def usual_rounds(nodes: int) -> int:
    """Rounds of pairs by default."""
    return ROUNDS_OF_FEW if nodes <= FEW_NODES else ROUNDS


def parts(plan: FleetPlan) -> Iterator[FleetPart]:
    """All, in the order measured."""
    each = plan.ranks_alone
    yield FleetPart(COPIES, "every node by itself, copies", each=each)
    if each > 1:
        yield FleetPart(LINKS, "every node by itself, messages", each=each)
    width = len(str(plan.rounds))
    for number in range(plan.rounds):
        place = str(number + 1).zfill(max(2, width))
        yield FleetPart(f"round-{place}", f"round {number + 1} of {plan.rounds}", number)


def _within(nodes: int, each: int) -> Iterator[list[tuple[int, int]]]:
    """In each phase disjoint pairs of every node's ranks, until all of them have met."""
    for number in range(Pairs.round_robin_phases(each)):
        inside = [
            (value, other) for value in range(each) if (other := meets(value, number, each) or 0) > value
        ]
        yield [(node * each + value, node * each + other) for node in range(nodes) for value, other in inside]


def pairs_of(round_: int, hosts: Sequence[str], seed: int, silent: Collection[str] = ()) -> NodePairs:
    """The disjoint pairs of a round, counted from 0.

    A round robin over a random order of the hosts, its rounds in a random order: no host meets another twice
    before meeting all others, and of an odd number another one waits each time. Then comes another random
    order. It follows from hosts, seed and round alone, so a run that is gone on with makes the same pairs; a
    silent host's partners wait.
    """
    count = len(hosts)
    if count < 2:
        return []
    cycle, place = divmod(round_, count - 1 + count % 2)
    chance = random.Random(f"{seed} {cycle}")
    order = chance.sample(list(hosts), count)
    rounds = count - 1 + count % 2
    number = chance.sample(range(rounds), rounds)[place]
    found = []
    for rank, name in enumerate(order):
        other = meets(rank, number, count)
        if other is not None and rank < other and not {name, order[other]} & set(silent):
            found.append((name, order[other]))
    return found
