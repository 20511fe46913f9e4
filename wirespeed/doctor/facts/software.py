"""Versions of the driver, CUDA, UCX, NCCL and NVSHMEM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from wirespeed.doctor.facts.nvml import Nvml

_PACKAGES = {
    "libucx-cu13": "libucx",
    "libucx-cu12": "libucx",
    "nvidia-nccl-cu13": "NCCL",
    "nvidia-nccl-cu12": "NCCL",
    "nvidia-nvshmem-cu13": "NVSHMEM",
    "nvidia-nvshmem-cu12": "NVSHMEM",
}


def software(packages: Mapping[str, str], libraries: Mapping[str, Path], nvml: Nvml) -> dict[str, str]:
    """Name -> version. `packages`: of Python; `libraries`: files that the core would open."""
    driver = {"NVIDIA driver": nvml.driver, "CUDA of the driver": nvml.cuda}
    found = {name: version for name, version in driver.items() if version}
    for package, name in _PACKAGES.items():
        if package in packages:
            found.setdefault(name, f"{packages[package]} ({package})")
    for key, name in (("nccl", "NCCL"), ("nvshmem", "NVSHMEM")):
        if key in libraries:
            found.setdefault(name, _of_file(libraries[key]))
    return found


def _of_file(file: Path) -> str:
    """'2.28.9 (libnccl.so.2.28.9)', as far as the file's name tells."""
    name = file.resolve().name
    version = re.search(r"\.so\.([\d.]+)$", name)
    return f"{version[1]} ({file})" if version and "." in version[1] else str(file)
