"""Run by one rank under an MPI's own launcher: what does the library say of itself once it has started?

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
CUDA_KINDS = {"MPIX_GPU_query_support": ((0, "CUDA"), (2, "HIP"), (1, "Level Zero"))}
"""MPIX_GPU_SUPPORT_* of MPICH's mpi.h."""


def queries(library: Any) -> dict[str, bool]:
    """Function -> its answer, for those that this MPI has."""
    found: dict[str, bool] = {}
    for name in ("MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "MPIX_Query_hip_support"):
        if hasattr(library, name):
            found[name] = bool(getattr(library, name)())
    if hasattr(library, "MPIX_GPU_query_support"):
        for number, kind in CUDA_KINDS["MPIX_GPU_query_support"]:
            answer = ctypes.c_int(0)
            if library.MPIX_GPU_query_support(number, ctypes.byref(answer)) == 0:
                found[f"MPIX_GPU_query_support({kind})"] = bool(answer.value)
    return found


def loaded() -> list[str]:
    """Files of libraries in this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split()[-1] for line in lines if "/" in line and ".so" in line})


def version_of(files: Sequence[str], stem: str, ask: Callable[[Any], str]) -> str:
    """A loaded library's version; empty if it is not loaded, or does not tell."""
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
    # UCX opens its modules for GPUs by itself, when a context is made.
    gpu = sorted(
        kind for kind in ("cuda", "rocm", "ze") if any(f"libuct_{kind}.so" in file for file in files)
    )
    said = {
        "queries": queries(library),
        "ucx": version_of(files, "libucp.so", ucx_version),
        "ucx_gpu": gpu,
        "fabric": version_of(files, "libfabric.so", fabric_version),
    }
    # As ranks speak: a launcher carries standard output.
    os.write(1, f"\n{MARK}{json.dumps(said)}\n".encode())
    library.MPI_Finalize()


main()
