"""Limit on ranks without --oversubscribe: a typing error must not start a million."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from wirespeed import inputs, launchers
from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, find_pattern

RANKS_PER_CPU = 8
"""Limit without --oversubscribe; a CPU is what Linux counts as one, a hardware thread."""
_NODE_FILES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE")
"""Variables of batch systems that name a file whose lines begin with hosts."""


def refuse_too_many(plans: Iterable[Plan], remedy: str = "add --oversubscribe") -> None:
    """Raises WirespeedError if one of the plans takes more ranks than its hosts' CPUs suggest.

    A batch system refuses by itself what its allocation has no room for, and under a user's launcher the
    ranks run already.
    """
    for plan in plans:
        if plan.oversubscribe or launchers.launched_rank() or launchers.by_batch_system(plan.launcher):
            continue
        pattern = find_pattern(plan.pattern).at(Shape(0, dict(plan.options)))
        ranks = plan.ranks or pattern.rank_rule.wanted or 0
        hosts = len(set(plan.hosts)) or _allocated_hosts(os.environ)
        cpus = len(os.sched_getaffinity(0)) if hosts == 1 else hosts * (os.cpu_count() or 1)
        if ranks > RANKS_PER_CPU * cpus:
            raise WirespeedError(
                f"{ranks} ranks are more than {RANKS_PER_CPU * cpus}, {RANKS_PER_CPU} for each of "
                f"{cpus} CPUs; if you mean it, {remedy}"
            )


def _allocated_hosts(environment: Mapping[str, str]) -> int:
    """Hosts that an mpiexec may go to inside a batch system's allocation; 1 outside."""
    with suppress(KeyError, ValueError):
        return max(1, int(environment["SLURM_JOB_NUM_NODES"]))
    for name in _NODE_FILES:
        with suppress(KeyError, OSError):
            lines = _node_file(name, environment[name]).splitlines()
            return max(1, len({line.split()[0] for line in lines if line.split()}))
    return 1


def _node_file(name: str, file: str) -> str:
    try:
        return inputs.text(file, errors="replace", pipes=False)
    except inputs.BeyondLimits as error:
        raise WirespeedError(f"{name}={file}: cannot read the list of hosts ({error})") from None
