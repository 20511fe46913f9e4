"""PCI devices in sysfs: whose address a device has, and how far two of them are from each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import takewhile
from pathlib import Path

from wirespeed.host.process import cpu_list

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_DEVICES = "sys/bus/pci/devices"
_BRIDGE = "pci"
"""Beginning of a host bridge's folder: pci0000:00."""

DISTANCES = {
    "PIX": "same PCIe switch as",
    "PXB": "behind the same root port as",
    "PHB": "same PCIe host bridge as",
    "NODE": "same NUMA node as",
    "SYS": "other NUMA node than",
}
"""Nearest first, under the names of `nvidia-smi topo -m`; in words, before the other device."""


def is_address(name: str) -> bool:
    """True of a PCI address, such as '0000:17:00.0'."""
    return bool(_ADDRESS.fullmatch(name))


def address_of(link: Path) -> str:
    """PCI address of a class device (.../device); empty without one. The device may lie below it (virtio)."""
    where = link.resolve()
    return next((folder.name for folder in (where, where.parent) if is_address(folder.name)), "")


def distance(first: str, second: str, root: Path = Path("/")) -> str | None:
    """One of DISTANCES between two PCI addresses; None where sysfs does not tell.

    sysfs nests a device in the bridges above it: two devices below one switch share all but its two
    downstream ports. A virtual machine's bridges are made up, and so is the distance.
    """
    one, other = (_bridges_and_device(root / _DEVICES / address.lower()) for address in (first, second))
    if not one or not other:
        return None
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
    if common > 1:
        # A device itself counts as nothing below its own place.
        return "PIX" if max(len(one), len(other)) - common <= 2 else "PXB"
    if common == 1:
        return "PHB"
    nodes = [_node(root / _DEVICES / address.lower()) for address in (first, second)]
    return None if None in nodes else "NODE" if nodes[0] == nodes[1] else "SYS"


def local_cpus(address: str, root: Path = Path("/")) -> tuple[int, ...]:
    """The CPUs nearest to a device, by its PCI address; empty where sysfs does not tell."""
    try:
        return cpu_list((root / _DEVICES / address.lower() / "local_cpulist").read_text())
    except OSError:
        return ()


def cpu_distance(cpus: Collection[int], near: Collection[int]) -> str:
    """NODE or SYS of CPUs to a device whose nearest CPUs are `near`; empty where they lie on both sides."""
    inside = {*cpus} & {*near}
    if not cpus or not near or (inside and inside != {*cpus}):
        return ""
    return "NODE" if inside else "SYS"


def distances(name: str, others: Iterable[str], root: Path = Path("/")) -> dict[str, str]:
    """Distances of a device to others, by their addresses, as far as they are known."""
    return {other: found for other in others if name and (found := distance(name, other, root))}


def _bridges_and_device(device: Path) -> list[str]:
    """['pci0000:00', '0000:00:01.0', '0000:01:00.0']: host bridge, bridges, device; [] without the device."""
    try:
        parts = device.resolve(strict=True).parts
    except (OSError, RuntimeError):
        return []
    first = next((place for place, part in enumerate(parts) if part.startswith(_BRIDGE)), len(parts))
    return list(parts[first:])


def _node(device: Path) -> int | None:
    """The kernel writes -1 where it does not know."""
    try:
        node = int((device / "numa_node").read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None
