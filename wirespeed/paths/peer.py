"""The other GPU's memory, opened within one host: written or read by copy engines and by kernels."""

from functools import partial

from wirespeed.paths import TransferPath

peer = partial(TransferPath, memory="device", one_host=True)
PATHS = (
    peer("ipc-write",
         "the sender's host starts a write into the other GPU's memory: copy engine, or kernel where faster",
         transport="ipc", options="by=write", order=54),
    peer("ipc-write-batch",
         "ipc-write, with one call for all copies of a list of blocks",
         transport="ipc", options="by=write;copy=engine;lists=batch", order=54),
    peer("ipc-gather",
         "a kernel that the sender's host starts writes each list of blocks into the other GPU's memory",
         transport="ipc", options="by=write;copy=kernel;lists=kernel", order=54),
    peer("ipc-read", "the receiver's copy engine reads the other GPU's memory",
         transport="ipc", options="by=read", order=55, default=False),
    peer("ipc-kernel", "a copy kernel that the sender's host starts writes the other GPU's memory",
         transport="ipc", options="by=write;copy=kernel", order=56, default=False),
    peer("gpu", "kernels write the other GPU's memory and signal it; iterations run without the CPU",
         transport="gpu", order=58),
    peer("gpu-load", "rma --operation load: a thread follows a chain of pointers in the other GPU's memory",
         transport="load", order=59, default=False),
    peer("gpu-load-own", "rma --operation load: the same in its own GPU's memory",
         transport="load", options="of=own", order=59, default=False),
)  # fmt: skip
