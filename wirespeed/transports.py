"""Capabilities of each transport: declared once here, asked by paths, doctor, reports and limits.

A transport is a folder of native/transports, and result files name it: this module knows nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal


@dataclass(frozen=True)
class Transport:
    """Capabilities of one transport, whatever the kind of memory and its options are."""

    name: str
    moved_by: Literal["mpi", "library", "wirespeed"]
    """Who moves bytes from rank to rank: MPI alone, a vendor's library, or our own copies and kernels."""
    needs_mpi: bool = False
    """An MPI must join the ranks: it moves the bytes, or brings the library that does."""
    over_ucx: bool = False
    """The bytes may go by UCX. Ranks of the other transports use it to find each other alone."""
    through_host: bool = False
    """Bytes between GPUs go through host memory; any other transport may be direct."""
    serial: bool = False
    """A message's copies and its transfer follow one another; nothing of it overlaps."""
    plain_device: bool = False
    """Memory and copies are all that it needs of a device: OpenMP's interface is enough."""
    beside_mpi: str = ""
    """Its library is looked for beside the libmpi in use: 'ucx', 'oshmem'."""
    library: str = ""
    """The vendor's library that moves the bytes, as wirespeed/host/libraries.py names it."""
    own_threads: bool = False
    """Does its library move messages by a thread of its own on each rank?"""
    own_memory: bool = False
    """The library hands out the buffers itself."""
    collectives: tuple[str, ...] = ()
    """Operations of all ranks that it hands to its library in one call."""
    variants: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Other ways in which the library does the same (VARIANTS), each with the transport's options."""


_BY_NCCL = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce")
_BY_NVSHMEM = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier")
_OF_NCCL = {
    "registered": "buffers=registered",
    "symmetric": "buffers=symmetric",
    "graph": "enqueue=graph-only",
}
_by_mpi = partial(Transport, moved_by="mpi", needs_mpi=True, over_ucx=True, plain_device=True)
ALL = (
    _by_mpi("mpi", collectives=(*_BY_NCCL, "barrier")),
    _by_mpi("rma"),
    _by_mpi("staged", through_host=True, serial=True),
    Transport("pipelined", "wirespeed", over_ucx=True, through_host=True),
    Transport("ucx", "library", over_ucx=True, beside_mpi="ucx"),
    Transport("oshmem", "library", needs_mpi=True, over_ucx=True, beside_mpi="oshmem"),
    Transport("tcp", "wirespeed"),
    Transport("gasnet", "library", library="gasnet"),
    Transport("ccl", "library", library="nccl", collectives=_BY_NCCL, variants=_OF_NCCL),
    Transport(
        "shmem", "library", library="nvshmem", own_threads=True, own_memory=True, collectives=_BY_NVSHMEM
    ),
    Transport("ipc", "wirespeed"),
    Transport("gpu", "wirespeed"),
    Transport("load", "wirespeed"),
    Transport("copy", "wirespeed", plain_device=True),
)
_BY_NAME = {transport.name: transport for transport in ALL}


def find_transport(name: object) -> Transport:
    """The transport called `name`; one without any trait where this version does not know it."""
    return _BY_NAME.get(str(name).partition(":")[0]) or Transport(str(name), "library")
