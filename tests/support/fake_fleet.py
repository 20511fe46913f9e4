"""Stands for what measures a plan: a fleet whose nodes may be slow or silent; it writes real result files."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode
from wirespeed.job.plan import Plan
from wirespeed.patterns.pairing import parsed
from wirespeed.results.reading import record_of
from wirespeed.results.recorder import Observer


@dataclass
class FakeFleet:
    """Measures at once."""

    slow: dict[str, float] = field(default_factory=dict)
    """By how much longer pairs of this node take."""
    slow_pairs: dict[tuple[str, str], float] = field(default_factory=dict)
    """By how much longer these two nodes take with each other."""
    late: dict[tuple[str, str, int], float] = field(default_factory=dict)
    """The same, in one launch alone."""
    slow_gpus: dict[tuple[str, int], float] = field(default_factory=dict)
    """By how much longer that takes which this GPU of a node does within the node."""
    cpu: dict[str, str] = field(default_factory=dict)
    """CPU models by nodes."""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Paths that give no figure, and why."""
    silent: dict[str, str] = field(default_factory=dict)
    """Nodes that do not answer, and how a launch with them ends: hang, start, named, crash, or blamed:
    the launcher ends it, and the first node's rank is said to have gone."""
    moody: str = ""
    """A node whose rank crashes between nodes alone."""
    dies_in: int = 0
    """The silent ones answer in the launches before this one."""
    stops_in: int | None = None
    """The launch that Ctrl-C ends."""
    sorts: bool = False
    """Whether ranks stand on the hosts in alphabetical order, as under a batch system."""
    lasts_s: float = 0.0
    """Seconds of a launch."""
    launches: list[Plan] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def __call__(self, plan: Plan, observe: Observer, bound: object = None) -> ExitCode:
        number = len(self.launches)
        self.launches.append(plan)
        time.sleep(self.lasts_s)
        if number == self.stops_in:
            return ExitCode.INTERRUPTED
        dead = {} if number < self.dies_in else {h: how for h, how in self.silent.items() if h in plan.hosts}
        hosts = sorted(plan.hosts) if self.sorts else list(plan.hosts)
        if self.moody in hosts and not dead and plan.ranks == len(hosts):
            dead = {self.moody: "crash"}
        lines = list(self._records(plan, hosts, dead))
        assert plan.out
        with Path(plan.out).open("x") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
                record = record_of(json.loads(json.dumps(line)))
                assert record
                observe(record)
        return ExitCode.FAILED_ENTRY if dead else ExitCode.OK

    def rounds(self) -> list[list[tuple[str, ...]]]:
        """The pairs of nodes of each launch of a round."""
        found = []
        for plan in self.launches:
            hosts = sorted(plan.hosts) if self.sorts else list(plan.hosts)
            if plan.ranks == len(hosts):
                (partners,) = parsed(dict(plan.options)["rank_pairs"])
                found.append([tuple(sorted((hosts[a], hosts[b]))) for a, b in partners.items() if a < b])
        return found

    def _records(self, plan: Plan, hosts: list[str], dead: dict[str, str]) -> Iterator[dict[str, Any]]:
        run, each = f"{self.chance.getrandbits(48):012x}", plan.ranks // len(hosts)
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        one = {"pattern": plan.pattern, "paths": ["host"], "hosts": list(plan.hosts), "options": plan.options}
        yield {"kind": "run", "schema": 2, "run": run, "started": at, "plan": one, "environment": {}}
        ranks: list[dict[str, Any]] = [
            {"rank": n, "host": host, "cpu_model": self.cpu.get(host, "")}
            for n in range(plan.ranks)
            for host in [hosts[n // each]]
        ]
        if plan.device != "cpu":
            ranks = [{**one, "device": {"index": one["rank"] % each, "name": "GPU"}} for one in ranks]
        step = {"run": run, "step": 0, "path": "host"}
        how = set(dead.values())
        if not how & {"start", "named"}:
            yield {**step, "kind": "step", "ranks": ranks}
        if dead:
            yield {**step, "kind": "failure", **self._failure(hosts, each, dead), "at": at}
        for path, why in self.unavailable.items():
            if path in plan.paths:
                yield {**step, "path": path, "kind": "failure", "what": "unavailable", "text": why, "at": at}
        for size in () if dead else plan.sizes:
            teams = [self._team(name, hosts, each) for name in self._teams(plan)]
            slowest = max((team["seconds"] for team in teams), key=lambda times: times["median"])
            entry = {"kind": "entry", "pattern": plan.pattern, "bytes": size, "seconds": slowest, "at": at}
            yield {**step, **entry, "teams": teams}
        yield {"kind": "end", "run": run, "status": "complete"}

    def _failure(self, hosts: list[str], each: int, dead: dict[str, str]) -> dict[str, Any]:
        places = {place for place, host in enumerate(hosts) if host in dead}
        rank, how = min(places) * each, next(iter(dead.values()))
        if how == "hang":
            stacks = [
                {"rank": r, "host": hosts[r // each]}
                for r in range(len(hosts) * each)
                if r // each not in places
            ]
            return {"what": "hang", "text": f"rank {rank} does not answer", "rank": rank, "stacks": stacks}
        if how in ("crash", "blamed"):
            rank = rank if how == "crash" else 0
            return {"what": "crash", "text": f"rank {rank} crashed", "rank": rank}
        log = [f"ssh: connect to host {hosts[min(places)]} port 22: refused"] if how == "named" else []
        return {"what": "error", "text": "the launcher could not start the ranks", "log": log}

    @staticmethod
    def _teams(plan: Plan) -> list[tuple[int, ...]]:
        if plan.pattern == "copy":
            return [(rank,) for rank in range(plan.ranks)]
        phases = parsed(dict(plan.options)["rank_pairs"])
        return [(one, other) for phase in phases for one, other in phase.items() if one < other]

    def _team(self, ranks: tuple[int, ...], hosts: list[str], each: int) -> dict[str, Any]:
        nodes = sorted({hosts[rank // each] for rank in ranks})
        factor = max(self.slow.get(node, 1.0) for node in nodes) if len(nodes) > 1 else 1.0
        if len(nodes) == 1:
            factor = max(self.slow_gpus.get((nodes[0], rank % each), 1.0) for rank in ranks)
        if len(nodes) == 2:
            factor *= self.slow_pairs.get((nodes[0], nodes[1]), 1.0)
            factor *= self.late.get((nodes[0], nodes[1], len(self.launches) - 1), 1.0)
        seconds = 1e-5 * factor * self.chance.lognormvariate(0, 0.01)
        times = {"median": seconds, "low": seconds * 0.99, "high": seconds * 1.01}
        return {"name": "-".join(map(str, ranks)), "first": ranks[0], "ranks": len(ranks), "seconds": times}
