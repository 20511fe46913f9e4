"""Vendors' libraries that pip installed: their files, so that the core and MPI can open them.

WIRESPEED_LIBRARY_NCCL=/path/libnccl.so.2 names another file; so for every library that the core opens.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from wirespeed.host import gasnet

_FILES = {
    "nvrtc": ("nvidia/*/lib/libnvrtc.so.*",),
    "cupti": ("nvidia/*/lib/libcupti.so.*",),
    "nccl": ("nvidia/*/lib/libnccl.so.*",),
    "nvshmem": ("nvidia/nvshmem/lib/libnvshmem_host.so.*",),
    "ucx": ("libucx/lib/libucp.so.0",),
}

_LOADED = {
    "nccl": {
        "cuda": ("libnccl.so.2", "pip install nvidia-nccl-cu13"),
        "hip": ("librccl.so.1", "ROCm has it in the package rccl"),
    },
    "nvshmem": {"cuda": ("libnvshmem_host.so.3", "pip install nvidia-nvshmem-cu13")},
    "ucx": dict.fromkeys(
        ("host", "emulated", "cuda", "hip"),
        ("libucp.so.0", "pip install libucx-cu13, or apt install libucx0"),
    ),
}
"""Per kind of device: the name that the core opens where no file is known, and how to install it."""

_GIVEN = "WIRESPEED_LIBRARY_"


def _search(patterns: tuple[str, ...]) -> Path | None:
    for entry in sys.path:
        folder = Path(entry or ".")
        for pattern in patterns:
            files = (path for path in folder.glob(pattern) if not re.search("alt|builtins", path.name))
            if newest := max(files, key=lambda path: path.name, default=None):
                return newest
    return None


@cache
def known_libraries() -> dict[str, Path]:
    """Name in the core -> file, for each library named by the user or found in the Python environment."""
    found = {name: _search(patterns) for name, patterns in _FILES.items()}
    given = {
        name.removeprefix(_GIVEN).lower(): Path(path)
        for name, path in os.environ.items()
        if name.startswith(_GIVEN) and path
    }
    return {name: path for name, path in found.items() if path} | gasnet.built() | given


@cache
def ucx_folder() -> Path | None:
    """Folder of a CUDA-enabled UCX (the libucx-cu12 or -cu13 wheel), if one is installed."""
    found = _search(_FILES["ucx"])
    return found.parent if found else None


def loaded_file(*stems: str) -> str | None:
    """The library of this process whose file's name begins with one of these; None: none does."""
    with suppress(OSError):
        files = (
            line.split()[-1]
            for line in os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines()
            if "/" in line
        )
        return next((file for file in files if Path(file).name.startswith(stems)), None)
    return None


def lacking(name: str, kind: str) -> str | None:
    """Why a library cannot be opened on this host, for devices of this kind; None: it can."""
    if name == "gasnet":
        some = any(known.startswith("gasnet_") for known in known_libraries())
        return None if some else gasnet.NONE_BUILT
    loaded, remedy = _LOADED.get(name, {}).get(kind, ("", ""))
    known = known_libraries().get(name)
    if known is None and not loaded:
        return f"there is none for {kind} devices" if name in _LOADED else None
    try:
        ctypes.CDLL(str(known or loaded))
    except OSError as error:
        return f"{loaded} not found ({remedy})" if known is None else str(error)
    return None
