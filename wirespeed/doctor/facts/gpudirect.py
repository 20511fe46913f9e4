"""GPUDirect RDMA: what lets a network adapter reach GPU memory."""

from __future__ import annotations

import re

from wirespeed.doctor.facts.model import GpuDirect
from wirespeed.doctor.facts.tree import Tree

MODULES = ("nvidia_peermem", "nv_peer_mem", "amdgpu", "gdrdrv")
_FIRST_KERNEL = (5, 12)
"""RDMA registers DMA-BUFs since Linux 5.12 (NVIDIA GPU Operator, GPUDirect RDMA: prerequisites)."""


def gpudirect(tree: Tree, kernel: str) -> GpuDirect:
    """Modules loaded, and whether DMA-BUF can do without them. `kernel`: release, '6.8.0-45-generic'."""
    loaded = {line.split()[0] for line in (tree.text("/proc/modules") or "").splitlines() if line}
    found = tuple(name for name in MODULES if name in loaded or tree.at(f"/sys/module/{name}").is_dir())
    return GpuDirect(found, *_dmabuf(tree, kernel))


def _dmabuf(tree: Tree, kernel: str) -> tuple[bool | None, str]:
    """NVIDIA: the kernel's part since 5.12, the driver's in its open modules (same source)."""
    version = re.match(r"(\d+)\.(\d+)", kernel)
    if not version:
        return None, "the kernel's release is unknown"
    if (int(version[1]), int(version[2])) < _FIRST_KERNEL:
        return False, f"Linux {version[0]}: DMA-BUF for RDMA came with 5.12"
    driver = tree.text("/proc/driver/nvidia/version")
    if driver is None:
        return None, "no NVIDIA driver in /proc"
    if "Open Kernel Module" not in driver:
        return False, "NVIDIA's proprietary kernel modules: DMA-BUF needs the open ones"
    return True, f"Linux {version[0]} and NVIDIA's open kernel modules"
