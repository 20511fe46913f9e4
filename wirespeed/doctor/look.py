"""Looks at the machine: every source of facts, in one place."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wirespeed.doctor.facts import amd, gpudirect, infiniband, limits, memory, mpi, net, numa, nvml, software
from wirespeed.doctor.facts.model import Facts, Gpu, Limits
from wirespeed.doctor.facts.tree import Tree
from wirespeed.frontend.machine import Machine
from wirespeed.host.libraries import known_libraries
from wirespeed.results import environment


@dataclass
class Sources:
    """Where facts come from; a test gives others."""

    tree: Tree = field(default_factory=Tree)
    nvml: Any = field(default_factory=nvml.load)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    limits: Limits = field(default_factory=limits.limits)
    cma: str | None = None
    """What a trial of CMA found; None: try it."""
    system: os.uname_result = field(default_factory=os.uname)


def look(machine: Machine, sources: Sources) -> Facts:
    """What can be known without starting a rank."""
    tree, system = sources.tree, sources.system
    gpus = nvml.read(sources.nvml, tree)
    adapters = infiniband.nics(tree)
    return Facts(
        host=system.nodename,
        kernel=f"{system.sysname} {system.release}",
        kind=machine.kind,
        virtual=numa.virtual(tree),
        cpu=environment.cpu(),
        nodes=numa.nodes(tree),
        gpus=_numbered((*gpus.gpus, *amd.gpus(tree)), machine.devices),
        pairs=gpus.pairs,
        nics=adapters,
        nets=net.nets(tree),
        limits=sources.limits,
        memory=memory.host_memory(tree, sources.cma),
        gpudirect=gpudirect.gpudirect(tree, system.release),
        mpis=mpi.mpis(machine.mpis),
        software=software.software(environment.packages(), known_libraries(), gpus),
        variables=_variables(sources.environment),
        lacking=tuple(
            line
            for line in (
                gpus.lacks,
                "" if adapters else "no RDMA network adapter (/sys/class/infiniband)",
            )
            if line
        ),
    )


def _variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Those that can change a figure; none that may be a secret."""
    relevant = (*environment.PREFIXES, "HSA_", "OPAL_", "RCCL_", "ROC_", "PAMI_")
    found = {name: text for name, text in variables.items() if name.startswith(relevant)}
    return environment.shareable(found)


def _numbered(found: tuple[Gpu, ...], devices: list[dict[str, Any]]) -> tuple[Gpu, ...]:
    """The driver's GPUs with the numbers that programs see; emulated ones are none of the driver's."""
    by_id = {str(device.get("id")): int(device.get("index", 0)) for device in devices}
    by_pci = {str(device.get("pci")).lower(): int(device.get("index", 0)) for device in devices}
    gpus = [dataclasses.replace(gpu, number=by_id.get(gpu.uuid, by_pci.get(gpu.pci))) for gpu in found]
    known = {gpu.pci for gpu in found if gpu.pci}
    for device in devices:
        address = str(device.get("pci") or "").lower()
        if device.get("kind") == "host" or (address and address in known):
            continue
        if any(gpu.uuid and gpu.uuid == device.get("id") for gpu in found):
            continue
        index = int(device.get("index", 0))
        kind, name = str(device.get("kind")), str(device.get("name") or "GPU")
        gpus.append(Gpu(index, name, kind, uuid=str(device.get("id") or ""), pci=address, number=index))
    return tuple(gpus)
