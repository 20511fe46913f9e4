"""Network adapters with RDMA (InfiniBand, RoCE, EFA) and network interfaces, in sysfs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from wirespeed.doctor.facts import pci
from wirespeed.doctor.facts.model import Gpu, Net, Nic, Port
from wirespeed.doctor.facts.tree import Tree
from wirespeed.host.pci_topology import DISTANCES, address_of, distances

_NICS, _NETS = "/sys/class/infiniband", "/sys/class/net"


def nics(tree: Tree) -> tuple[Nic, ...]:
    """Every adapter and its ports."""
    found = []
    for name in tree.names(_NICS):
        folder = f"{_NICS}/{name}"
        numbers = [int(port) for port in tree.names(f"{folder}/ports") if port.isdigit()]
        found.append(
            Nic(
                name=name,
                model=tree.text(f"{folder}/hca_type") or "",
                ports=tuple(_port(tree, f"{folder}/ports/{number}", number) for number in numbers),
                **pci.location(tree, address_of(tree.at(f"{folder}/device"))),
            )
        )
    return tuple(found)


def with_nearest(tree: Tree, gpu: Gpu, adapters: Sequence[Nic]) -> Gpu:
    """The GPU with the adapters nearest to it."""
    addresses = {nic.name: nic.pci for nic in adapters if nic.pci}
    found = distances(gpu.pci, set(addresses.values()), tree.root)
    least = next((distance for distance in DISTANCES if distance in found.values()), "")
    names = tuple(name for name, address in addresses.items() if least and found.get(address) == least)
    return structs.replace(gpu, nearest=names, distance=least)


def _port(tree: Tree, folder: str, number: int) -> Port:
    """'4: ACTIVE' and '400 Gb/sec (4X NDR)' as values."""
    state = (tree.text(f"{folder}/state") or "").partition(":")[2].strip()
    rate = re.match(r"([\d.]+) Gb/sec(?: \((\d+)X)?", tree.text(f"{folder}/rate") or "")
    layer = tree.text(f"{folder}/link_layer") or ""
    if rate is None:
        return Port(number, layer, state)
    return Port(number, layer, state, float(rate[1]), int(rate[2]) if rate[2] else None)


def nets(tree: Tree) -> tuple[Net, ...]:
    """Every interface with a device; bridges, tunnels and loopback have none."""
    found = []
    for name in tree.names(_NETS):
        folder = f"{_NETS}/{name}"
        if not tree.at(f"{folder}/device").exists():
            continue
        speed = tree.number(f"{folder}/speed")
        address = address_of(tree.at(f"{folder}/device"))
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
