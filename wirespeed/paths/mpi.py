"""MPI on the buffers as they are."""

from functools import partial

from wirespeed.paths import Switch, TransferPath

mpi = partial(TransferPath, transport="mpi")
PATHS = (
    mpi("host", "MPI between pageable host buffers", memory="pageable", order=10),
    mpi("host-pinned", "MPI between pinned host buffers", memory="pinned", order=11, default=False),
    mpi("host-datatype", "MPI between pageable host buffers, lists of blocks as a derived datatype",
        memory="pageable", options="lists=datatype", order=12),
    mpi("host-packed", "MPI between pageable host buffers, lists of blocks packed by the CPU",
        memory="pageable", options="lists=packed", order=13),
    mpi("aware", "MPI given device pointers (GPU-aware MPI)", memory="device", order=30),
    mpi("aware-datatype", "MPI given device pointers, lists of blocks as a derived datatype",
        memory="device", options="lists=datatype", order=30),
    mpi("aware-packed", "MPI given device pointers, lists of blocks packed by a kernel",
        memory="device", options="lists=packed", order=30),
    mpi("aware-managed", "MPI given managed memory", memory="managed", order=31, default=False),
    mpi("aware-nogdr", "MPI given device pointers, GPUDirect P2P switched off (UCX_TLS=^cuda_ipc)",
        memory="device", order=32,
        switch=Switch({"UCX_TLS": "^cuda_ipc"}, {"UCX_IB_GPU_DIRECT_RDMA": "n"}, "libuct_cuda", "aware")),
    mpi("aware-d2h", "MPI from a device buffer into a pageable host buffer, in both directions",
        memory="device", options="into=pageable", order=33, default=False),
    mpi("aware-h2d", "MPI from a pageable host buffer into a device buffer, in both directions",
        memory="pageable", options="into=device", order=34, default=False),
)  # fmt: skip
