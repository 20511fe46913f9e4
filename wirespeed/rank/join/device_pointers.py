"""What the MPI that a rank has joined says of device pointers, before it is handed one."""

from __future__ import annotations

import ctypes

from wirespeed.host.libraries import loaded_file

_QUERIES = ("MPIX_Query_cuda_support", "MPIX_Query_rocm_support")
_UCX_MODULES = ("libuct_cuda", "libuct_rocm")


def refused_by(library: str) -> str | None:
    """The function by which it says that it takes none; None: it says that it does, or nothing.

    Open MPI's speaks for itself alone: a UCX that knows GPUs takes them all the same.
    """
    found = ctypes.CDLL(library)
    there = [name for name in _QUERIES if hasattr(found, name)]
    if not there or any(map(loaded_file, _UCX_MODULES)) or any(getattr(found, name)() for name in there):
        return None
    return there[0]
