"""PCI devices in sysfs: their link, their NUMA node, the CPUs near them."""

from __future__ import annotations

import re

from wirespeed.doctor.facts.model import PciLink
from wirespeed.doctor.facts.tree import Tree, cpu_list

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def is_address(name: str) -> bool:
    """Is it a PCI address, as '0000:17:00.0'?"""
    return bool(_ADDRESS.fullmatch(name))


def node(tree: Tree, pci: str) -> int | None:
    """NUMA node of a device; None where the kernel does not know it (-1)."""
    number = tree.number(f"{_DEVICES}/{pci}/numa_node") if pci else None
    return number if number is not None and number >= 0 else None


def near(tree: Tree, pci: str) -> tuple[int, ...]:
    """CPUs of the device's NUMA node; empty where the kernel does not know the node."""
    if node(tree, pci) is None:
        return ()
    return cpu_list(tree.text(f"{_DEVICES}/{pci}/local_cpulist"))


def link(tree: Tree, pci: str) -> PciLink | None:
    """The device's link, and what the port above it can do; None for what is not there."""
    folder = f"{_DEVICES}/{pci}"
    if not pci or not tree.at(folder).exists():
        return None
    above = tree.at(folder).resolve().parent
    slot = f"{_DEVICES}/{above.name}" if is_address(above.name) else ""
    return PciLink(
        speed=_speed(tree.text(f"{folder}/current_link_speed")),
        width=_width(tree.text(f"{folder}/current_link_width")),
        most_speed=_speed(tree.text(f"{folder}/max_link_speed")),
        most_width=_width(tree.text(f"{folder}/max_link_width")),
        slot_speed=_speed(tree.text(f"{slot}/max_link_speed")) if slot else None,
        slot_width=_width(tree.text(f"{slot}/max_link_width")) if slot else None,
    )


def _speed(text: str | None) -> float | None:
    """'16.0 GT/s PCIe' -> 16.0; a virtual machine says Unknown."""
    match = re.match(r"([\d.]+) GT/s", text or "")
    return float(match[1]) if match else None


def _width(text: str | None) -> int | None:
    """0 and 255 mean that nobody knows."""
    return int(text) if text and text.isdigit() and 0 < int(text) <= 32 else None


GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""GT/s of a lane -> PCI Express generation (PCI-SIG base specifications)."""


def named(speed: float | None, width: int | None) -> str:
    """'PCIe 5.0 x16', as far as it is known."""
    generation = GENERATIONS.get(speed or 0.0)
    lanes = f"x{width}" if width else ""
    return " ".join(part for part in (f"PCIe {generation}.0" if generation else "", lanes) if part)
