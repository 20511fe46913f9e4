"""AMD's GPUs in sysfs, without any library."""

from __future__ import annotations

import re

from wirespeed.doctor.facts import pci
from wirespeed.doctor.facts.model import Gpu
from wirespeed.doctor.facts.tree import Tree
from wirespeed.host.pci_topology import address_of

_CARDS = "/sys/class/drm"


def gpus(tree: Tree) -> tuple[Gpu, ...]:
    """Cards that the kernel's amdgpu driver runs."""
    found: list[Gpu] = []
    for name in tree.names(_CARDS):
        device = f"{_CARDS}/{name}/device"
        if not re.fullmatch(r"card\d+", name) or tree.target(f"{device}/driver") != "amdgpu":
            continue
        found.append(
            Gpu(
                index=len(found),
                name=tree.text(f"{device}/product_name") or "AMD GPU",
                kind="hip",
                uuid=tree.text(f"{device}/unique_id") or "",
                **pci.location(tree, address_of(tree.at(device))),
            )
        )
    return tuple(found)
