"""Run by one rank under an MPI's own launcher: asks the library what it supports once it has started.

Started as a file: it imports nothing of this package, so that it runs wherever Python does.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MARK = "wirespeed-ask:"
QUERIES = ("MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "MPIX_Query_hip_support")
GPU_KINDS = {"CUDA": 0, "HIP": 2, "Level Zero": 1}
"""MPIX_GPU_SUPPORT_* of MPICH's mpi.h."""


def queries(library: Any) -> dict[str, bool]:
    """Function -> its answer, for those that this MPI has."""
    found = {name: bool(getattr(library, name)()) for name in QUERIES if hasattr(library, name)}
    for kind, number in GPU_KINDS.items() if hasattr(library, "MPIX_GPU_query_support") else ():
        answer = ctypes.c_int(0)
        if library.MPIX_GPU_query_support(number, ctypes.byref(answer)) == 0:
            found[f"MPIX_GPU_query_support({kind})"] = bool(answer.value)
    return found


def loaded() -> list[str]:
    """Files of libraries in this process."""
    lines = os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines()
    return sorted({line.split()[-1] for line in lines if "/" in line and ".so" in line})


def version_of(files: Sequence[str], stem: str, ask: Callable[[Any], str]) -> str:
    """A loaded library's version; empty if it is not loaded."""
    for file in files:
        if Path(file).name.startswith(stem):
            try:
                return ask(ctypes.CDLL(file))
            except (OSError, AttributeError):
                return "of unknown version"
    return ""


def ucx_version(library: Any) -> str:
    parts = [ctypes.c_uint() for _ in range(3)]
    library.ucp_get_version(*map(ctypes.byref, parts))
    return ".".join(str(part.value) for part in parts)


def fabric_version(library: Any) -> str:
    number = library.fi_version()
    return f"libfabric {number >> 16}.{number & 0xFFFF}"


def main() -> None:
    """Prints one marked line."""
    library = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"], ctypes.RTLD_GLOBAL)
    library.MPI_Init(None, None)
    files = loaded()
    # UCX loads its modules for GPUs when a context is created.
    said = {
        "queries": queries(library),
        "ucx": version_of(files, "libucp.so", ucx_version),
        "ucx_gpu": [kind for kind in ("cuda", "rocm", "ze") if f"/libuct_{kind}.so" in "".join(files)],
        "fabric": version_of(files, "libfabric.so", fabric_version),
    }
    # Launchers forward standard output from any host.
    os.write(1, f"\n{MARK}{json.dumps(said)}\n".encode())
    library.MPI_Finalize()


main()
