"""Obstacles between two GPUs on PCIe: an IOMMU that translates, bridges that redirect (ACS)."""

from __future__ import annotations

import struct

from wirespeed.doctor.facts.model import Gpu
from wirespeed.doctor.facts.tree import Tree
from wirespeed.host.pci_topology import is_address

_DEVICES = "/sys/bus/pci/devices"
_FIRST, _ACS, _CONTROL = 0x100, 0x000D, 6
"""PCI Express: place of the first extended capability, the number of ACS, its control register."""
_REDIRECTS = 0x04 | 0x08
"""ACS P2P Request Redirect and Completion Redirect."""


def between(tree: Tree, gpu: Gpu) -> dict[str, object]:
    """Type of the GPU's IOMMU group, and the bridges above it that redirect, as fields of a Gpu."""
    device = tree.at(f"{_DEVICES}/{gpu.pci}")
    if not gpu.pci or not device.exists():
        return {}
    group = tree.text(f"{_DEVICES}/{gpu.pci}/iommu_group/type") or ""
    bridges = [part for part in device.resolve().parent.parts if is_address(part)]
    return {"iommu": group, "redirects": tuple(name for name in bridges if _redirects(tree, name))}


def _redirects(tree: Tree, bridge: str) -> bool:
    """False also where the kernel shows only root the registers."""
    try:
        config = tree.at(f"{_DEVICES}/{bridge}/config").read_bytes()
    except OSError:
        return False
    at = _FIRST
    # A damaged list may lead in a circle: it has less than a thousand places.
    for _ in range(1024):
        if at < _FIRST or at + 8 > len(config):
            return False
        (head,) = struct.unpack_from("<I", config, at)
        if head & 0xFFFF == _ACS:
            return bool(struct.unpack_from("<H", config, at + _CONTROL)[0] & _REDIRECTS)
        at = head >> 20
    return False
