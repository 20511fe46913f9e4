"""MPI on the buffers as they are."""

from wirespeed.paths import Path

PATHS = (
    Path("host", "MPI between pageable host buffers", "mpi", "pageable", order=10),
    Path(
        "host-pinned",
        "MPI between pinned host buffers",
        "mpi",
        "pinned",
        needs_device=True,
        default=False,
        order=11,
    ),
    Path(
        "aware",
        "MPI given device pointers (GPU-aware MPI)",
        "mpi",
        "device",
        needs_device=True,
        gpu_aware_mpi=True,
        order=30,
    ),
    Path(
        "aware-managed",
        "MPI given managed memory",
        "mpi",
        "managed",
        needs_device=True,
        gpu_aware_mpi=True,
        default=False,
        order=31,
    ),
    Path(
        "aware-nogdr",
        "MPI given device pointers, GPUDirect P2P switched off (UCX_TLS=^cuda_ipc)",
        "mpi",
        "device",
        needs_device=True,
        gpu_aware_mpi=True,
        variables={"UCX_TLS": "^cuda_ipc"},
        switched="libuct_cuda",
        without="aware",
        order=32,
    ),
)
