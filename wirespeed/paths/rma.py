"""MPI one-sided: puts and gets, each made known by an empty message."""

from wirespeed.paths import Path

PATHS = (
    Path(
        "rma-host",
        "MPI_Put between pageable host buffers, then a notice",
        "rma",
        "pageable",
        options=(("call", "put"),),
        trial=True,
        default=False,
        order=16,
    ),
    Path(
        "rma-host-get",
        "MPI_Get between pageable host buffers, with notices before and after",
        "rma",
        "pageable",
        options=(("call", "get"),),
        trial=True,
        default=False,
        order=17,
    ),
    Path(
        "rma",
        "MPI_Put given device pointers (GPU-aware MPI), then a notice",
        "rma",
        "device",
        options=(("call", "put"),),
        needs_device=True,
        gpu_aware_mpi=True,
        default=False,
        order=60,
    ),
    Path(
        "rma-get",
        "MPI_Get given device pointers (GPU-aware MPI), with notices before and after",
        "rma",
        "device",
        options=(("call", "get"),),
        needs_device=True,
        gpu_aware_mpi=True,
        default=False,
        order=61,
    ),
)
