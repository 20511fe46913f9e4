"""PCI devices in sysfs: their link, their NUMA node, the CPUs near them."""

from __future__ import annotations

import re
from typing import Any

from wirespeed.doctor.facts.model import PciLink
from wirespeed.doctor.facts.tree import Tree, cpu_list
from wirespeed.host.pci_topology import is_address

_DEVICES = "/sys/bus/pci/devices"


def node(tree: Tree, pci: str) -> int | None:
    """NUMA node of a device; None where the kernel does not know it."""
    return tree.natural_number(f"{_DEVICES}/{pci}/numa_node") if pci else None


def location(tree: Tree, pci: str) -> dict[str, Any]:
    """Address, NUMA node, CPUs of that node and link of a device, as fields of a Gpu or Nic."""
    at = node(tree, pci)
    near = cpu_list(tree.text(f"{_DEVICES}/{pci}/local_cpulist")) if at is not None else ()
    return {"pci": pci, "node": at, "near": near, "link": link(tree, pci)}


def link(tree: Tree, pci: str) -> PciLink | None:
    """The device's link, and the limits of the port above it; None for a device that does not exist."""
    folder = f"{_DEVICES}/{pci}"
    if not pci or not tree.at(folder).exists():
        return None
    above = tree.at(folder).resolve().parent
    now = _speed_and_width(tree, f"{folder}/current")
    most = _speed_and_width(tree, f"{folder}/max")
    slot = _speed_and_width(tree, f"{_DEVICES}/{above.name}/max") if is_address(above.name) else (None, None)
    return PciLink(*now, *most, *slot)


def _speed_and_width(tree: Tree, prefix: str) -> tuple[float | None, int | None]:
    """'16.0 GT/s PCIe' and '16' as numbers; a virtual machine says Unknown."""
    speed = re.match(r"([\d.]+) GT/s", tree.text(f"{prefix}_link_speed") or "")
    return float(speed[1]) if speed else None, _width(tree.text(f"{prefix}_link_width"))


def _width(text: str | None) -> int | None:
    """The kernel writes 0 or 255 where it does not know."""
    return int(text) if text and text.isdigit() and 0 < int(text) <= 32 else None


GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""GT/s of a lane -> PCI Express generation (PCI-SIG base specifications)."""


def named(speed: float | None, width: int | None) -> str:
    """'PCIe 5.0 x16', as far as it is known."""
    generation = GENERATIONS.get(speed or 0.0)
    lanes = f"x{width}" if width else ""
    return " ".join(part for part in (f"PCIe {generation}.0" if generation else "", lanes) if part)
