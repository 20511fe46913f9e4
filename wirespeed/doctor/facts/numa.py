"""NUMA nodes: their CPUs, memory and sockets."""

from __future__ import annotations

import re

from wirespeed.doctor.facts.model import NumaNode
from wirespeed.doctor.facts.tree import Tree, cpu_list

_NODES, _CPUS = "/sys/devices/system/node", "/sys/devices/system/cpu"


def nodes(tree: Tree) -> tuple[NumaNode, ...]:
    """Every node; a kernel without NUMA has one, with all CPUs."""
    found = []
    for name in tree.names(_NODES):
        if re.fullmatch(r"node\d+", name):
            cpus = cpu_list(tree.text(f"{_NODES}/{name}/cpulist"))
            found.append(NumaNode(int(name[4:]), cpus, _bytes(tree, name), _socket(tree, cpus)))
    if found:
        return tuple(found)
    cpus = cpu_list(tree.text(f"{_CPUS}/online"))
    return (NumaNode(0, cpus, None, _socket(tree, cpus)),) if cpus else ()


def virtual(tree: Tree) -> bool:
    """True where the CPU reports a hypervisor (a flag of x86; other CPUs have none)."""
    return " hypervisor" in (tree.text("/proc/cpuinfo") or "")


def _bytes(tree: Tree, name: str) -> int | None:
    match = re.search(r"MemTotal:\s+(\d+) kB", tree.text(f"{_NODES}/{name}/meminfo") or "")
    return int(match[1]) * 1024 if match else None


def _socket(tree: Tree, cpus: tuple[int, ...]) -> int | None:
    if not cpus:
        return None
    return tree.natural_number(f"{_CPUS}/cpu{cpus[0]}/topology/physical_package_id")
