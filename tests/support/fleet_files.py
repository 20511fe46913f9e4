"""Result files of a small fleet: each node by itself, and pairs of nodes in random disjoint rounds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 3)
Factor = Callable[[int, str, str], float]
"""Of a day and one or two nodes ('': none): by how much longer it takes."""


def write_fleet(
    folder: Path,
    *,
    nodes: int = 16,
    days: int = 3,
    rounds: int = 6,
    factor: Factor = lambda _day, _one, _other: 1.0,
    driver: Callable[[int], str] = lambda _day: "580.1",
    cpu: Callable[[str], str] = lambda _node: "",
    seed: int = 1,
    first_day: int = 0,
) -> None:
    """A file for each node and day, and one for each round of pairs and day; noise of 1 %."""
    rng = random.Random(seed + first_day)
    names = [f"n{number:02d}" for number in range(1, nodes + 1)]
    for day in range(first_day, first_day + days):
        at = START + timedelta(days=day)
        for name in names:
            seconds = 1e-3 * factor(day, name, "") * rng.lognormvariate(0, 0.01)
            write_run(
                folder / f"{name}-{day}.jsonl", at, [name, name], seconds, rng, driver=driver(day), cpu=cpu
            )
        for number in range(rounds):
            order = rng.sample(names, nodes)
            for one, other in zip(order[::2], order[1::2], strict=False):
                seconds = 1e-5 * factor(day, one, other) * rng.lognormvariate(0, 0.01)
                file = folder / f"{one}-{other}-{day}-{number}.jsonl"
                write_run(file, at, [one, other], seconds, rng, driver=driver(day), cpu=cpu)


def write_run(
    file: Path,
    at: datetime,
    hosts: list[str],
    seconds: float,
    rng: random.Random,
    *,
    driver: str = "",
    cpu: Callable[[str], str] = lambda _node: "",
    more: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
) -> None:
    """One run of two ranks on these hosts, with one figure; `more`: other members of its entry, or `plan`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    name = f"{rng.getrandbits(48):012x}"
    records = _records(name, at, hosts, seconds, driver, cpu, more or {}, plan or {})
    file.write_text("".join(json.dumps(one) + "\n" for one in records))


def _records(
    name: str,
    at: datetime,
    hosts: list[str],
    seconds: float,
    driver: str,
    cpu: Callable[[str], str],
    more: Mapping[str, Any],
    plan: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    moment = f"{at.isoformat()}+00:00"
    yield {
        "kind": "run",
        "run": name,
        "schema": 2,
        "started": moment,
        "plan": {"pattern": "pingpong", "paths": ["host"], **plan},
        "environment": {"host": hosts[0], "kernel": "Linux 6.1"},
    }
    device = {"kind": "cuda", "index": None, "name": "GPU", "driver": driver} if driver else None
    ranks = [
        {"rank": rank, "host": host, "cpu_model": cpu(host), "device": device}
        for rank, host in enumerate(hosts)
    ]
    mpi = {"vendor": "Open MPI", "version": "5.0.11"}
    yield {"kind": "step", "run": name, "step": 0, "path": "host", "ranks": ranks, "mpi": mpi}
    times = {"median": seconds, "low": seconds * 0.99, "high": seconds * 1.01}
    entry = {"kind": "entry", "run": name, "step": 0, "pattern": "pingpong", "path": "host", "bytes": 8}
    yield {**entry, "seconds": times, "at": moment, **more}
    yield {"kind": "end", "run": name, "status": "complete"}
