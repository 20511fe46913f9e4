"""Collects the facts of a machine from all sources."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from wirespeed.doctor.facts import amd, gpudirect, iommu, load, memory, network, numa, nvml, software
from wirespeed.doctor.facts.model import Gpu, Limits, MachineFacts, MpiFact
from wirespeed.doctor.facts.tree import Tree
from wirespeed.frontend.machine import Machine
from wirespeed.host import variables
from wirespeed.host.libraries import known_libraries
from wirespeed.host.mpi import Mpi
from wirespeed.host.process import printable_name
from wirespeed.results import environment


def own_limits() -> Limits:
    """The limits of this process, which job steps inherit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Limits(None if soft == resource.RLIM_INFINITY else soft, tuple(sorted(os.sched_getaffinity(0))))


@dataclass
class Sources:
    """The sources of facts; a test gives others."""

    tree: Tree = field(default_factory=Tree)
    nvml: Any = field(default_factory=nvml.load)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    limits: Limits = field(default_factory=own_limits)
    cma: str | None = None
    """Outcome of a trial of CMA; None: try it."""
    busy: float | None = field(default_factory=load.used_by_others)
    system: os.uname_result = field(default_factory=os.uname)


def collect(machine: Machine, sources: Sources) -> MachineFacts:
    """Facts that are known without starting a rank."""
    tree, system = sources.tree, sources.system
    gpus = nvml.read(sources.nvml, tree)
    adapters = network.nics(tree)
    found = _numbered((*gpus.gpus, *amd.gpus(tree)), machine.devices)
    no_adapters = "" if adapters else "no RDMA network adapter (/sys/class/infiniband)"
    return MachineFacts(
        host=printable_name(os.fsencode(system.nodename)),
        kernel=f"{system.sysname} {system.release}",
        kind=machine.kind,
        virtual=numa.virtual(tree),
        cpu=environment.cpu(),
        nodes=numa.nodes(tree),
        gpus=tuple(
            structs.replace(network.with_nearest(tree, gpu, adapters), **iommu.between(tree, gpu))
            for gpu in found
        ),
        pairs=gpus.pairs,
        nics=adapters,
        nets=network.nets(tree),
        limits=sources.limits,
        busy=sources.busy,
        memory=memory.host_memory(tree, sources.cma),
        gpudirect=gpudirect.gpudirect(tree, system.release),
        mpis=tuple(_mpi(mpi, chosen=number == 0) for number, mpi in enumerate(machine.mpis)),
        software=software.software(environment.packages(), known_libraries(), gpus),
        variables=variables.shareable(sources.environment),
        hidden=variables.hidden(sources.environment),
        lacking=tuple(filter(None, (gpus.lacks, no_adapters))),
    )


def _mpi(mpi: Mpi, *, chosen: bool) -> MpiFact:
    return MpiFact(
        mpi.title, mpi.vendor, mpi.version, str(mpi.prefix), str(mpi.mpiexec), mpi.source, chosen=chosen
    )


def _numbered(found: tuple[Gpu, ...], devices: list[dict[str, Any]]) -> tuple[Gpu, ...]:
    """The driver's GPUs with the numbers that programs see, and GPUs that the driver does not know."""
    by_id = {str(device.get("id")): int(device.get("index", 0)) for device in devices}
    by_pci = {str(device.get("pci")).lower(): int(device.get("index", 0)) for device in devices}
    gpus = [structs.replace(gpu, number=by_id.get(gpu.uuid, by_pci.get(gpu.pci))) for gpu in found]
    known = {name for gpu in found for name in (gpu.pci, gpu.uuid) if name}
    for device in devices:
        address, uuid = str(device.get("pci") or "").lower(), str(device.get("id") or "")
        if device.get("kind") != "host" and not known & {address, uuid}:
            index, name = int(device.get("index", 0)), str(device.get("name") or "GPU")
            gpus.append(Gpu(index, name, str(device.get("kind")), uuid=uuid, pci=address, number=index))
    return tuple(gpus)
