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
    operations: tuple[str, ...] = ()
    """One-sided operations that it has on every path: of PUTS, or "load"."""
    takes_pointers: bool = False
    """It hands the buffers to MPI as they are, also device pointers."""
    tried: Literal["", "on a GPU", "always"] = ""
    """Whether a few messages are tried before it is measured: it may fail as a whole."""
    inside: bool = False
    """It moves bytes inside a rank, none between ranks."""
    variants: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Other ways in which the library does the same (VARIANTS), each with the transport's options."""


_BY_NCCL = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce")
_BY_NVSHMEM = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier")
_OF_NCCL = {
    "registered": "buffers=registered",
    "symmetric": "buffers=symmetric",
    "graph": "enqueue=graph-only",
}
PUTS = ("put", "get", "fetch-add")
"""One-sided operations of a transport that puts."""
_by_mpi = partial(Transport, moved_by="mpi", needs_mpi=True, over_ucx=True, plain_device=True)
_library = partial(Transport, moved_by="library", tried="always")
_peer = partial(Transport, moved_by="wirespeed", tried="always")
ALL = (
    _by_mpi("mpi", collectives=(*_BY_NCCL, "barrier"), takes_pointers=True, tried="on a GPU"),
    _by_mpi("rma", takes_pointers=True, tried="always"),
    _by_mpi("staged", through_host=True, serial=True),
    Transport("pipelined", "wirespeed", over_ucx=True, through_host=True, tried="on a GPU"),
    Transport("ucx", "library", over_ucx=True, beside_mpi="ucx", tried="on a GPU"),
    _library("oshmem", needs_mpi=True, over_ucx=True, beside_mpi="oshmem"),
    Transport("tcp", "wirespeed"),
    _library("gasnet", library="gasnet"),
    _library("ccl", library="nccl", collectives=_BY_NCCL, variants=_OF_NCCL),
    _library("shmem", library="nvshmem", own_threads=True, own_memory=True, collectives=_BY_NVSHMEM,
             operations=PUTS),
    _peer("ipc"),
    _peer("gpu"),
    _peer("load", operations=("load",)),
    Transport("copy", "wirespeed", plain_device=True, inside=True),
)  # fmt: skip
_BY_NAME = {transport.name: transport for transport in ALL}


def find_transport(name: object) -> Transport:
    """The transport called `name`; one without any trait where this version does not know it."""
    return _BY_NAME.get(str(name).partition(":")[0]) or Transport(str(name), "library")
