"""Result files of a small fleet: each node by itself, and pairs of nodes in random disjoint rounds."""

from __future__ import annotations

import json
import math
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
    drivers: Mapping[str, str] | None = None,
    cpu: Callable[[str], str] = lambda _node: "",
    seed: int = 1,
    first_day: int = 0,
) -> None:
    """A file for each node and day, and one for each round of pairs and day; noise of 1 %.

    `drivers`: of nodes that have their own.
    """
    rng = random.Random(seed + first_day)
    names = [f"n{number:02d}" for number in range(1, nodes + 1)]
    for day in range(first_day, first_day + days):
        at = START + timedelta(days=day)
        for name in names:
            seconds = 1e-3 * factor(day, name, "") * rng.lognormvariate(0, 0.01)
            file = folder / f"{name}-{day}.jsonl"
            write_run(file, at, [name, name], seconds, rng, driver=driver(day), drivers=drivers, cpu=cpu)
        for number in range(rounds):
            order = rng.sample(names, nodes)
            for one, other in zip(order[::2], order[1::2], strict=False):
                seconds = 1e-5 * factor(day, one, other) * rng.lognormvariate(0, 0.01)
                file = folder / f"{one}-{other}-{day}-{number}.jsonl"
                write_run(file, at, [one, other], seconds, rng, driver=driver(day), drivers=drivers, cpu=cpu)


def planted(folder: Path, lines: list[str]) -> None:
    """A fleet from the words of a transcript, of which each may stand for some days alone (days=4-6).

    NAME=NUMBER ...: arguments of `write_fleet`. NODE,NODE FACTOR: slow nodes; "alone": by themselves; "with":
    with partners; "*": every node. driver VERSION, driver VERSION NODE..., cpu MODEL
    NODE...: of all nodes, of some.
    """
    numbers: dict[str, int] = {}
    slow: list[tuple[set[str], float, str, range]] = []
    drivers, own, models = {0: "580.1"}, dict[str, str](), dict[str, str]()
    for line in lines:
        *words, last = line.split()
        days = range(1000)
        if words and last.startswith("days="):
            first, _, end = last[5:].partition("-")
            days, last = range(int(first), int(end or 999) + 1), words.pop()
        match [*words, last]:
            case ["driver", version, *names]:
                own |= dict.fromkeys(names, version)
                drivers[days[0]] = drivers[0] if names else version
            case ["cpu", model, *names]:
                models |= dict.fromkeys(names, model)
            case [nodes, by, *how] if "=" not in nodes:
                slow.append(({*nodes.split(",")}, float(by), "".join(how), days))
            case pairs:
                numbers |= {name: int(number) for name, number in (pair.split("=") for pair in pairs)}

    def factor(day: int, one: str, other: str) -> float:
        here, not_how = {"*", one, other}, "alone" if other else "with"
        return math.prod(
            by for nodes, by, how, days in slow if day in days and nodes & here and how != not_how
        )

    write_fleet(
        folder,
        factor=factor,
        driver=lambda day: drivers[max(first for first in drivers if first <= day)],
        drivers=own,
        cpu=lambda node: models.get(node, models.get("*", "")),
        **numbers,
    )


def write_run(
    file: Path,
    at: datetime,
    hosts: list[str],
    seconds: float,
    rng: random.Random,
    *,
    driver: str = "",
    drivers: Mapping[str, str] | None = None,
    cpu: Callable[[str], str] = lambda _node: "",
    more: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
) -> None:
    """One run of two ranks on these hosts, with one figure; `more`: other members of its entry, or `plan`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    name = f"{rng.getrandbits(48):012x}"
    devices = {host: (drivers or {}).get(host, driver) for host in hosts}
    records = _records(name, at, hosts, seconds, devices, cpu, more or {}, plan or {})
    file.write_text("".join(json.dumps(one) + "\n" for one in records))


def _records(
    name: str,
    at: datetime,
    hosts: list[str],
    seconds: float,
    drivers: Mapping[str, str],
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
    gpu = {"kind": "cuda", "index": None, "name": "GPU"}
    ranks = [
        {"rank": rank, "host": host, "cpu_model": cpu(host)}
        | {"device": gpu | {"driver": drivers[host]} if drivers[host] else None}
        for rank, host in enumerate(hosts)
    ]
    mpi = {"vendor": "Open MPI", "version": "5.0.11"}
    yield {"kind": "step", "run": name, "step": 0, "path": "host", "ranks": ranks, "mpi": mpi}
    times = {"median": seconds, "low": seconds * 0.99, "high": seconds * 1.01}
    entry = {"kind": "entry", "run": name, "step": 0, "pattern": "pingpong", "path": "host", "bytes": 8}
    yield {**entry, "seconds": times, "at": moment, **more}
    yield {"kind": "end", "run": name, "status": "complete"}


SLOW = "n05"
"""The slow node of `slow`."""


def slow(_: int, one: str, other: str) -> float:
    return 1.15 if SLOW in (one, other) else 1.0
