"""CPUs beside those on which ranks measure: for a rank that is started ahead, and for libraries' threads."""

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


class FreeCpus:
    """The CPUs of this process's NUMA nodes, until it leaves them for its own.

    Launchers bind the ranks of every job step to the same CPUs. The kernel finds this process others, on the
    same nodes, so that its memory lies where it would have been.
    """

    def __init__(self, nodes: Path = NODES, within: Collection[int] = ()) -> None:
        """`within`: the only CPUs that the whole job may use; none: there is no such limit."""
        own = os.environ.pop("WIRESPEED_OWN_CPUS", "")
        self.own = {int(cpu) for cpu in own.split(",")} if own else os.sched_getaffinity(0)
        with suppress(OSError):
            wide = _of_nodes(self.own, nodes)
            os.sched_setaffinity(0, wide & {*within} or wide)
        self._wide = os.sched_getaffinity(0)

    def leave(self) -> None:
        """Puts every thread where it would have been; those that chose their CPUs themselves stay there."""
        move_threads(self._wide, self.own)


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

    def leave(self) -> bool:
        """Moves the first thread, too: others will measure here. False: it is still there."""
        if self._free:
            move_threads(self._own, self._free)
        return os.sched_getaffinity(0) != self._own


def _of_nodes(own: set[int], nodes: Path) -> set[int]:
    """All CPUs of the nodes on which these are; these alone where the kernel does not say."""
    found = set(own)
    for file in nodes.glob("node[0-9]*/cpulist"):
        with suppress(OSError):
            if own & (cpus := set(cpu_list(file.read_text()))):
                found |= cpus
    return found
