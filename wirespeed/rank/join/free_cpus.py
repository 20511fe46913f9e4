"""CPUs beside those on which ranks measure, for libraries' threads."""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from wirespeed.host.cgroup import cpu_quota
from wirespeed.host.process import cpu_list, host_name, move_threads
from wirespeed.rank.world import World

NODES = Path("/sys/devices/system/node")


class FreeForThreads:
    """The CPUs of this rank's nodes that no rank measures on, for threads of the libraries it uses.

    Launchers bind a rank with all its threads to one CPU: NCCL's, CUDA's and UCX's would take it from the one
    thread that is timed.
    """

    def __init__(self, comm: World, own: set[int], within: Collection[int] = (), nodes: Path = NODES) -> None:
        """Collective. `own`: those that this rank measures on. `within`: all that the job may use."""
        here = host_name()
        places = comm.everyone((here, sorted(own)))
        taken = {cpu for host, cpus in places if host == here for cpu in cpus}
        wide = _of_nodes(own, nodes)
        free = (wide & {*within} if within else wide) - taken
        # On fewer than the ranks have, all their threads would crowd; a quota is used up sooner by more CPUs.
        neighbours = [host for host, _ in places if host == here]
        few = len(free) < len(taken & wide) or (cpu_quota() or math.inf) < 2 * len(neighbours)
        self._own, self._free = own, set[int]() if few else free

    def move(self) -> bool:
        """Moves there all threads but the first, which is timed; those that chose their CPUs stay.

        False: there are no such CPUs.
        """
        if self._free:
            move_threads(self._own, self._free, but=os.getpid())
        return bool(self._free)


def _of_nodes(own: set[int], nodes: Path) -> set[int]:
    """All CPUs of the nodes on which these are; these alone where the kernel does not say."""
    found = set(own)
    for file in nodes.glob("node[0-9]*/cpulist"):
        with suppress(OSError):
            if own & (cpus := set(cpu_list(file.read_text()))):
                found |= cpus
    return found
