"""RDMA network adapters (InfiniBand, RoCE, EFA) in sysfs."""

from __future__ import annotations

import re

from wirespeed.doctor.facts import pci
from wirespeed.doctor.facts.model import Nic, Port
from wirespeed.doctor.facts.net import pci_address
from wirespeed.doctor.facts.tree import Tree

_FOLDER = "/sys/class/infiniband"


def nics(tree: Tree) -> tuple[Nic, ...]:
    """Every adapter and its ports."""
    found = []
    for name in tree.names(_FOLDER):
        folder = f"{_FOLDER}/{name}"
        numbers = [int(port) for port in tree.names(f"{folder}/ports") if port.isdigit()]
        found.append(
            Nic(
                name=name,
                model=tree.text(f"{folder}/hca_type") or "",
                ports=tuple(_port(tree, f"{folder}/ports/{number}", number) for number in numbers),
                **pci.location(tree, pci_address(tree, f"{folder}/device")),
            )
        )
    return tuple(found)


def _port(tree: Tree, folder: str, number: int) -> Port:
    """'4: ACTIVE' and '400 Gb/sec (4X NDR)' as values."""
    state = (tree.text(f"{folder}/state") or "").partition(":")[2].strip()
    rate = re.match(r"([\d.]+) Gb/sec(?: \((\d+)X)?", tree.text(f"{folder}/rate") or "")
    layer = tree.text(f"{folder}/link_layer") or ""
    if rate is None:
        return Port(number, layer, state)
    return Port(number, layer, state, float(rate[1]), int(rate[2]) if rate[2] else None)
