"""CPUs for ranks that no launcher has bound: each has its own, as mpirun would give them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from wirespeed.host.process import cpu_list, host_name, move_threads
from wirespeed.rank.world import World

MAX_NAMED = 8
"""Ranks of which each one's CPU is named."""
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def pin(comm: World, near: Sequence[int], *, whole_cores: bool) -> str | None:
    """Collective. Ranks that may all run anywhere on their host would meet on one CPU, and wait there.

    `near`: the CPUs of this rank's GPU; empty: they are not known, or there is none. `whole_cores`: a rank
    has one core, as for messages between CPUs; else an equal part of all cores, for the threads that a GPU's
    libraries start. Returns why ranks of a host stay where they are and may meet, and what would pin them;
    None where they are pinned. The same on all ranks.
    """
    own = sorted(os.sched_getaffinity(0))
    places = comm.everyone((host_name(), own, sorted({*near} & {*own})))
    neighbours = [rank for rank, (host, _, _) in enumerate(places) if host == places[comm.rank][0]]
    allowed = [places[rank][1] for rank in neighbours]
    why = None
    if all(cpus == own for cpus in allowed):
        near_each = [frozenset(places[rank][2]) for rank in neighbours]
        parts = shares_near(cores_of(own), near_each, whole_cores=whole_cores)
        if parts:
            move_threads({*own}, {*parts[neighbours.index(comm.rank)]})
        else:
            why = f"{places[comm.rank][0]} has fewer cores than ranks"
    elif len({cpu for cpus in allowed for cpu in cpus}) < sum(map(len, allowed)):
        why = f"the ranks on {places[comm.rank][0]} may use different CPUs, some of which they share"
    if not (why := next(filter(None, comm.everyone(why)), None)):
        return None
    # For GPUs the option takes other numbers.
    remedy = f"; --between {_cpu_of_each(places)} pins" if whole_cores and comm.size <= MAX_NAMED else ""
    return f"ranks are not pinned: {why}{remedy}"


def _cpu_of_each(places: Sequence[tuple[str, Sequence[int], Sequence[int]]]) -> str:
    """'0,1': on its host, each rank has another CPU if there is one."""
    taken: list[tuple[str, int]] = []
    for host, cpus, _ in places:
        taken.append((host, next((cpu for cpu in cpus if (host, cpu) not in taken), cpus[0])))
    return ",".join(str(cpu) for _, cpu in taken)


def shares_near(
    cores: Sequence[Sequence[int]], near: Sequence[frozenset[int]], *, whole_cores: bool
) -> list[list[int]]:
    """The CPUs of each rank: a part of those near its GPU, which ranks whose GPUs have the same share.

    Where these are not known of all ranks, overlap, or are too few, each has a part of all. Empty where there
    are fewer cores than ranks.
    """
    groups = {*near}
    found: dict[frozenset[int], list[list[int]]] = {}
    if frozenset() not in groups and sum(map(len, groups)) == len(frozenset().union(*groups)):
        for group in groups:
            local = [core for core in cores if group >= {*core}]
            found[group] = shares(local, list(near).count(group), whole_cores=whole_cores)
    if not found or not all(found.values()):
        return shares(cores, len(near), whole_cores=whole_cores)
    return [found[group].pop(0) for group in near]


def place(cpus: Sequence[int], local_rank: int, ranks: int, *, whole_cores: bool) -> None:
    """Puts this rank on its share of these CPUs, if it may run on all of them and there are enough.

    `ranks`: of this host.
    """
    own = tuple(sorted(os.sched_getaffinity(0)))
    parts = shares(cores_of(cpus), ranks, whole_cores=whole_cores)
    if own != tuple(cpus) or not parts:
        return
    with suppress(OSError):
        os.sched_setaffinity(0, parts[local_rank % ranks])


def cores_of(cpus: Sequence[int], siblings: str = _SIBLINGS) -> list[list[int]]:
    """These CPUs, those of one core together; each by itself where the kernel does not say."""
    found: dict[tuple[int, ...], list[int]] = {}
    for cpu in cpus:
        alike: tuple[int, ...] = (cpu,)
        with suppress(OSError):
            alike = cpu_list(Path(siblings.format(cpu)).read_text()) or alike
        found.setdefault(alike, []).append(cpu)
    return list(found.values())


def shares(cores: Sequence[Sequence[int]], ranks: int, *, whole_cores: bool) -> list[list[int]]:
    """The CPUs of each of so many ranks; empty where there are fewer cores than ranks."""
    each = len(cores) // ranks
    if not each:
        return []
    taken = 1 if whole_cores else each
    parts = (cores[turn * taken : (turn + 1) * taken] for turn in range(ranks))
    return [[cpu for core in part for cpu in core] for part in parts]
