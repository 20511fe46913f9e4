"""MPI one-sided: puts and gets, each made known by an empty message."""

from functools import partial

from wirespeed.paths import TransferPath

host = partial(TransferPath, transport="rma", memory="pageable", default=False)
device = partial(TransferPath, transport="rma", memory="device", default=False)
PATHS = (
    host("rma-host", "MPI_Put between pageable host buffers, then a notification",
         options="call=put", order=16),
    host("rma-host-get", "MPI_Get between pageable host buffers, with notifications before and after",
         options="call=get", order=17),
    device("rma", "MPI_Put given device pointers (GPU-aware MPI), then a notification",
           options="call=put", order=60),
    device("rma-get", "MPI_Get given device pointers (GPU-aware MPI), with notifications before and after",
           options="call=get", order=61),
)  # fmt: skip
