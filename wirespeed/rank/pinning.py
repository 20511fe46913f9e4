"""CPUs for ranks that no launcher has bound: each has its own, as mpirun would give them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from wirespeed.host.process import cpu_list
from wirespeed.rank.world import World

OWN_CPUS = "WIRESPEED_OWN_CPUS"
"""Variable with the CPUs of a rank that starts ahead of its turn."""
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def pin(comm: World, *, whole_cores: bool) -> None:
    """Collective. Ranks that may all run anywhere on their host would meet on one CPU, and wait there.

    `whole_cores`: a rank has one core, as for messages between CPUs; else an equal part of all cores, for the
    threads that a GPU's libraries start.
    """
    own = tuple(sorted(os.sched_getaffinity(0)))
    places = comm.everyone((os.uname().nodename, list(own)))
    neighbours = [rank for rank, place in enumerate(places) if place[0] == places[comm.rank][0]]
    if any(tuple(places[rank][1]) != own for rank in neighbours):
        return  # somebody has bound them
    parts = shares(cores_of(own), len(neighbours), whole_cores=whole_cores)
    if parts:
        with suppress(OSError):
            os.sched_setaffinity(0, parts[neighbours.index(comm.rank)])


def place(cpus: Sequence[int], local_rank: int, ranks: int, *, whole_cores: bool) -> None:
    """Puts this rank on its share of these CPUs, if it may run on all of them and there are enough.

    `ranks`: of this host. A rank that starts ahead (free_cpus.py) goes there when its turn comes.
    """
    waits = OWN_CPUS in os.environ
    own = cpu_list(os.environ[OWN_CPUS]) if waits else tuple(sorted(os.sched_getaffinity(0)))
    parts = shares(cores_of(cpus), ranks, whole_cores=whole_cores)
    if own != tuple(cpus) or not parts:
        return
    share = parts[local_rank % ranks]
    if waits:
        os.environ[OWN_CPUS] = ",".join(map(str, share))
    else:
        with suppress(OSError):
            os.sched_setaffinity(0, share)


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
