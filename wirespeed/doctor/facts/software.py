"""Versions of the driver, CUDA, UCX, NCCL and NVSHMEM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from wirespeed.doctor.facts.nvml import NvmlFacts

_PACKAGES = {"libucx-cu": "libucx", "nvidia-nccl-cu": "NCCL", "nvidia-nvshmem-cu": "NVSHMEM"}


def software(packages: Mapping[str, str], libraries: Mapping[str, Path], driver: NvmlFacts) -> dict[str, str]:
    """Name -> version. `packages`: of Python; `libraries`: files that the core would open."""
    named = {"NVIDIA driver": driver.version, "CUDA of the driver": driver.cuda}
    found = {name: version for name, version in named.items() if version}
    for package in (f"{prefix}{cuda}" for prefix in _PACKAGES for cuda in (13, 12)):
        if package in packages:
            found.setdefault(_PACKAGES[package[:-2]], f"{packages[package]} ({package})")
    for key, name in (("nccl", "NCCL"), ("nvshmem", "NVSHMEM")):
        if key in libraries:
            found.setdefault(name, _of_file(libraries[key]))
    return found


def _of_file(file: Path) -> str:
    """'2.28.9 (libnccl.so.2.28.9)', as far as the file's name tells."""
    name = file.resolve().name
    version = re.search(r"\.so\.([\d.]+)$", name)
    return f"{version[1]} ({file})" if version and "." in version[1] else str(file)
