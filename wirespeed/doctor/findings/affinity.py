"""Processes that run far from their GPU or their network adapter."""

from __future__ import annotations

from wirespeed.doctor.facts.model import Facts, Gpu, RankPlacement
from wirespeed.doctor.finding import Conditions, Cost, Finding, Trial, span

SIZES = (8, 64 << 10, 16 << 20)


def find(facts: Facts) -> list[Finding]:
    """Of this process, and of ranks as they really stood in a job step."""
    if len(facts.nodes) < 2:
        return []
    return [*_this_process(facts), *_ranks(facts)]


def _this_process(facts: Facts) -> list[Finding]:
    """CPUs that this process, and what it starts, may use: none of them near a GPU or an adapter."""
    mine = set(facts.limits.cpus)
    if not mine:
        return []
    devices = [(gpu.title, gpu.node, gpu.near) for gpu in facts.real_gpus]
    devices += [(nic.name, nic.node, nic.near) for nic in facts.nics]
    far: dict[tuple[int | None, tuple[int, ...]], list[str]] = {}
    for name, node, cpus in devices:
        if cpus and not mine & set(cpus):
            far.setdefault((node, cpus), []).append(name)
    return [
        Finding(
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
        for (node, cpus), names in far.items()
    ]


def _ranks(facts: Facts) -> list[Finding]:
    by_pci = {gpu.pci: gpu for gpu in facts.real_gpus if gpu.pci}
    far: list[tuple[RankPlacement, Gpu]] = []
    for place in facts.places:
        gpu = by_pci.get(place.pci)
        if place.host != facts.host or not (gpu and gpu.near and place.cpus):
            continue
        if not set(place.cpus) & set(gpu.near):
            far.append((place, gpu))
    if not far:
        return []
    # Ranks whose GPUs are at several nodes cannot all be put near them by one set of CPUs.
    every = {by_pci[place.pci].near for place in facts.places if place.pci in by_pci}
    nodes = ",".join(dict.fromkeys(str(gpu.node) for _, gpu in far))
    return [
        Finding(
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
            trial=_trial(facts, far[0][1].near) if len(every) == 1 else None,
        )
    ]


def _trial(facts: Facts, cpus: tuple[int, ...]) -> Trial | None:
    """Copies by the host cost most: path `staged` where there are GPUs."""
    path = "staged" if facts.kind != "host" else "host"
    return Trial(path, SIZES, Conditions(cpus=cpus))
