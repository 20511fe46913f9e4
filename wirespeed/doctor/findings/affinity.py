"""Processes that run far from their GPU or their network adapter."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import TRIAL_SIZES, Conditions, Cost, Finding, Trial
from wirespeed.grouping import grouped
from wirespeed.host.process import span


def find(facts: MachineFacts) -> Iterator[Finding]:
    """For this process, and for ranks by their CPUs in a job step."""
    if len(facts.nodes) > 1:
        yield from _this_process(facts)
        yield from _ranks(facts)


def _this_process(facts: MachineFacts) -> Iterator[Finding]:
    """None of the CPUs that this process and its children may use is near a GPU or an adapter."""
    mine = set(facts.limits.cpus)
    devices = [(gpu.title, gpu.node, gpu.near) for gpu in facts.real_gpus]
    devices += [(nic.name, nic.node, nic.near) for nic in facts.nics]
    far = (device for device in devices if mine and device[2] and not mine & set(device[2]))
    for (node, cpus), names in grouped(((node, cpus), name) for name, node, cpus in far).items():
        yield Finding(
            "affinity-process",
            f"This process may not run near {', '.join(names)}: bytes cross the link between sockets",
            Cost.SOME,
            (
                f"{', '.join(names)}: at NUMA node {node} (CPUs {span(cpus)})",
                f"allowed CPUs: {span(facts.limits.cpus)} (taskset, cgroup or batch system)",
            ),
            (f"taskset -pc {span(cpus)} $$  # this shell and what it starts from now on",),
            trial=_trial(facts, cpus),
        )


def _ranks(facts: MachineFacts) -> Iterator[Finding]:
    by_pci = {gpu.pci: gpu for gpu in facts.real_gpus if gpu.pci}
    placed = [(place, by_pci[place.pci]) for place in facts.places if place.pci in by_pci]
    far = [
        (place, gpu)
        for place, gpu in placed
        if place.host == facts.host and gpu.near and place.cpus and not set(place.cpus) & set(gpu.near)
    ]
    if not far:
        return
    nodes = ",".join(dict.fromkeys(str(gpu.node) for _, gpu in far))
    # Ranks whose GPUs are at several nodes cannot all be put near them by one set of CPUs.
    one_node = len({gpu.near for _, gpu in placed}) == 1
    yield Finding(
        "affinity-rank",
        f"{len(far)} of {len(facts.places)} ranks run far from their GPU",
        Cost.SOME,
        tuple(
            f"rank {place.rank}: CPUs {span(place.cpus)}; {gpu.title} is at NUMA node {gpu.node} "
            f"(CPUs {span(gpu.near)})"
            for place, gpu in far[:4]
        ),
        (
            f"numactl --cpunodebind={nodes} --membind={nodes} PROGRAM  # in front of the program",
            "mpirun --map-by ppr:1:numa --bind-to numa PROGRAM  # Open MPI: a rank on each NUMA node",
            "srun --gpu-bind=closest --cpu-bind=verbose PROGRAM  # Slurm",
        ),
        trial=_trial(facts, far[0][1].near) if one_node else None,
    )


def _trial(facts: MachineFacts, cpus: tuple[int, ...]) -> Trial:
    """Copies by the host cost most: path `staged` where there are GPUs."""
    return Trial("staged" if facts.kind != "host" else "host", TRIAL_SIZES, Conditions(cpus=cpus))
