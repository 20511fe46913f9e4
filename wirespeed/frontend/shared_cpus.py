"""Ranks that have fewer CPUs than they are, and so have to take turns: from where each one may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.grouping import grouped
from wirespeed.host.process import cpu_list, span

MAX_NAMED = 3


def sharing(ranks: Sequence[Mapping[str, Any]]) -> str | None:
    """'ranks 0-1 on n1 share CPU 0'; None where each rank can have a CPU of its own.

    `ranks`: members rank, host, cpus and cpu_quota of each, as the step record has them.
    """
    found: list[str] = []
    for host, here in grouped((rank["host"], rank) for rank in ranks).items():
        allowed = {rank["rank"]: set(cpu_list(rank["cpus"])) for rank in here}
        for group, cpus in _crowded(allowed):
            word = "CPU" if len(cpus) == 1 else "CPUs"
            found.append(f"ranks {span(group)} on {host} share {word} {span(cpus)}")
        quotas = [rank["cpu_quota"] for rank in here if rank.get("cpu_quota")]
        if quotas and min(quotas) < len(here):
            found.append(f"{len(here)} ranks on {host} may use {min(quotas):g} CPUs' time (control group)")
        if len(found) >= MAX_NAMED:
            break
    return "; ".join(found[:MAX_NAMED]) or None


def _crowded(allowed: Mapping[int, set[int]]) -> list[tuple[set[int], set[int]]]:
    """Groups of ranks that are more than the CPUs of all of them together, with those CPUs.

    A matching gives as many ranks as possible a CPU of their own. A rank without one, the ranks that have
    one of its CPUs, the ranks that have one of theirs, and so on, are such a group (Hall's theorem).
    """
    holder: dict[int, int] = {}
    """Rank of each CPU."""
    owned: dict[int, int] = {}

    def place(rank: int) -> set[int]:
        """Gives the rank a CPU, moving others if need be; where none is free, the CPUs that are too few."""
        asked: dict[int, int] = {}
        asking = [rank]
        for number in asking:
            for cpu in allowed[number] - asked.keys():
                asked[cpu] = number
                if cpu in holder:
                    asking.append(holder[cpu])
                    continue
                while True:
                    given, number = cpu, asked[cpu]
                    cpu = owned.get(number, -1)
                    holder[given], owned[number] = number, given
                    if cpu < 0:
                        return set()
        return set(asked)

    groups: list[tuple[set[int], set[int]]] = []
    for rank, own in allowed.items():
        if own and not any(rank in group for group, _ in groups) and (cpus := place(rank)):
            inside = {other for other, theirs in allowed.items() if theirs and theirs <= cpus}
            groups.append((inside, cpus))
    return groups
