"""Facts of a machine made of files (fake_machine.py), and what is found about them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import structs
from support.fake_machine import GPUS, FakeNvml

from wirespeed.doctor.collect import Sources, collect
from wirespeed.doctor.facts.model import Limits, MachineFacts
from wirespeed.doctor.facts.tree import Tree
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.findings import find_all
from wirespeed.frontend.machine import Machine
from wirespeed.host.mpi import Mpi
from wirespeed.results.parts import Cpu

MPI = Mpi("openmpi", "5.0.11", Path("/mpi"), Path("/mpi/bin/mpiexec"), Path("/mpi/lib/libmpi.so.40"), "given")
SYSTEM = os.uname_result(("Linux", "n1", "6.8.0", "#1", "x86_64"))
CPU = Cpu(model="AMD EPYC", sockets=1, cores=2, threads=2, numa_nodes=1)
DEVICES = [
    {"kind": "cuda", "index": number, "name": "NVIDIA H200", "id": f"GPU-{pci}", "pci": pci}
    for number, pci in enumerate(GPUS)
]


def facts_of(
    root: Path,
    nvml: Any = None,
    limit: Limits | None = None,
    cma: str = "works",
    variables: Mapping[str, str] | None = None,
) -> MachineFacts:
    """A healthy machine's facts, but for what is given; its CPU and /dev/shm are none of this machine's."""
    sources = Sources(
        Tree(root),
        nvml or FakeNvml(),
        variables or {},
        limit or Limits(None, tuple(range(8))),
        cma=cma,
        busy=0.0,
        system=SYSTEM,
    )
    facts = collect(Machine("cuda", DEVICES, [MPI], {}), sources)
    memory = structs.replace(facts.memory, shm_bytes=64 << 30, shm_free=64 << 30)
    return structs.replace(facts, memory=memory, cpu=CPU)


def keys(facts: MachineFacts) -> list[str]:
    return [finding.key for finding in find_all(facts)]


def one(facts: MachineFacts, key: str) -> Finding:
    found = [finding for finding in find_all(facts) if finding.key == key]
    assert len(found) == 1, [finding.key for finding in find_all(facts)]
    assert found[0].title
    assert found[0].evidence
    assert found[0].remedy
    return found[0]
