"""The NICs that a rank's bytes left by, in a record of kind `evidence`."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from wirespeed.host.pci_topology import DISTANCES
from wirespeed.results.parts import Share, Sparse, Whole, one_of


class UsedNic(Sparse, frozen=True, kw_only=True):
    """A port or an interface by which bytes of a rank left its host."""

    name: str
    """mlx5_0:1 or eth0."""
    share: Share | None = None
    """Share of the bytes that all NICs of the rank's host carried, by their counters; missing: not known."""
    distance: Annotated[str, one_of(*DISTANCES)] = ""
    """From the rank's GPU, or its CPUs where it has none, as nvidia-smi topo names it; missing: not known."""
    transport: str = ""
    """By the log of UCX or NCCL: tcp, rc_mlx5, IB, Socket, ...; missing: no log names the NIC."""
    gpudirect: bool | UnsetType = UNSET
    """Did the NIC reach GPU memory by itself (GPUDirect RDMA), by NCCL's log? Missing: no log says."""


class RankNics(Sparse, frozen=True, kw_only=True):
    """The NICs of one rank."""

    rank: Whole
    host: str = ""
    nics: tuple[UsedNic, ...] = ()
    by: tuple[str, ...] = ()
    """counters; counters of its host, where several ranks share several NICs; log."""
