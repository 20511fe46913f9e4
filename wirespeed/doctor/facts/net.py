"""Network interfaces of the kernel that have hardware under them."""

from __future__ import annotations

from wirespeed.doctor.facts import pci
from wirespeed.doctor.facts.model import Net
from wirespeed.doctor.facts.tree import Tree

_FOLDER = "/sys/class/net"


def nets(tree: Tree) -> tuple[Net, ...]:
    """Every interface with a device; bridges, tunnels and loopback have none."""
    found = []
    for name in tree.names(_FOLDER):
        folder = f"{_FOLDER}/{name}"
        if not tree.at(f"{folder}/device").exists():
            continue
        speed = tree.number(f"{folder}/speed")
        address = pci_address(tree, f"{folder}/device")
        found.append(
            Net(
                name=name,
                state=tree.text(f"{folder}/operstate") or "",
                rate=speed / 1000 if speed and speed > 0 else None,
                driver=tree.target(f"{folder}/device/driver") or "",
                pci=address,
                node=pci.node(tree, address),
            )
        )
    return tuple(found)


def pci_address(tree: Tree, link: str) -> str:
    """PCI address of a class device; the device itself may lie below it (virtio)."""
    where = tree.at(link).resolve()
    return next((folder.name for folder in (where, where.parent) if pci.is_address(folder.name)), "")
