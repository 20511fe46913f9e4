"""A GPU driver's facts about the memory that a rank's messages lie in."""

from __future__ import annotations

from wirespeed.results.parts import RecordPart, Whole


class Pointer(RecordPart, frozen=True, kw_only=True):
    """The driver's facts about a rank's device memory; null: it does not say."""

    rank: Whole = 0
    memory: str | None = None
    """device, host, managed, unregistered."""
    device: Whole | None = None
    """Number of the GPU that it lies on."""
    context: str | None = None
    """primary; own: of another context; none: memory of a pool or of a mapping."""
    ipc: bool | None = None
    """Can another process open it by a legacy IPC handle?"""
    rdma: bool | None = None
    """Can a network adapter reach it by GPUDirect RDMA?"""
    library: str | None = None
    """The library that handed it out; null: the driver."""
