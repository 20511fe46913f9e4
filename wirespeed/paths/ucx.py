"""UCX called directly, without MPI in between: what the MPI over it adds is the difference."""

from functools import partial

from wirespeed.paths import TransferPath

ucx = partial(TransferPath, transport="ucx", default=False)
device = partial(ucx, memory="device")
PATHS = (
    ucx("ucx-host", "UCX's tag send and receive between pageable host buffers, without MPI",
        memory="pageable", options="call=tag", order=13),
    ucx("ucx-host-iov", "ucx-host, lists of blocks as UCX's iov",
        memory="pageable", options="call=tag;lists=iov", order=14),
    ucx("ucx-host-put", "UCX's put between pageable host buffers, then a word, without MPI",
        memory="pageable", options="call=put", order=14),
    device("ucx", "UCX's tag send and receive given device pointers, without MPI",
           options="call=tag", order=35),
    device("ucx-iov", "ucx, lists of blocks as UCX's iov",
           options="call=tag;lists=iov", order=36),
    device("ucx-put", "UCX's put given device pointers, then a word, without MPI",
           options="call=put", order=36),
)  # fmt: skip
