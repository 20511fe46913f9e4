"""Collective operations that the path gpu does whole in its own kernel: each is exact by each protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conformance.test_collectives import OURS, exact, told_by
from support.mpis import InstalledMpi

ON_GPU = ",".join(f"gpu:{name}" for name in OURS)
DIRECT = "gpu:direct,gpu:one-shot"
LL, STORES = ("protocol=LL", "threads=16"), ("protocol=stores", "blocks=3", "threads=16")
ODD = "0,6,1000,40002"
"""No elements, fewer than ranks, counts that leave the last of 16 bytes or of a packet unfilled."""


def told(mpi: InstalledMpi, ranks: int, paths: str, tmp: Path, *options: str, **more: Any) -> Any:
    """What rank 0 was told; each emulated GPU has three blocks of 16 threads in a random order."""
    device = {"WIRESPEED_EMULATED": f"count={ranks},blocks=3,threads=16,seed=1"}
    more["libraries"] = device | (more.get("libraries") or {})
    return told_by(mpi, ranks, "emulated", paths, tmp, *options, **({"sizes": ODD} | more))


def in_the_kernel(messages: list[dict[str, Any]], protocol: str) -> None:
    """All had this protocol, and work was the kernel's."""
    entries = [one for one in messages if one["kind"] == "entry"]
    assert {one["details"]["protocol"] for one in entries if one["bytes"]} <= {protocol}
    for one in entries:
        if one["pattern"] in ("allreduce", "reducescatter", "reduce"):
            assert one["details"]["work"] == "by the same kernel", one


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize(
    ("ranks", "paths", "options"),
    [
        (2, ON_GPU, LL),
        (2, ON_GPU, STORES),
        (3, ON_GPU, STORES),
        (3, DIRECT, (*LL, "offset=2")),
        (4, "gpu:doubling,gpu:one-shot", STORES),
        *(
            pytest.param(ranks, ON_GPU, (*protocol, offset), marks=pytest.mark.thorough)
            for ranks in (2, 3, 4, 5)
            for protocol in (LL, STORES)
            for offset in ("offset=0", "offset=2", "offset=8")
        ),
    ],
)
def test_every_operation_in_the_kernel(
    mpi: InstalledMpi, ranks: int, paths: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """Protects what is combined as it arrives: shares of blocks, odd ends, in place or not, every algorithm."""
    messages = told(mpi, ranks, paths, tmp_path, *options)
    exact(messages, paths, ranks)
    in_the_kernel(messages, options[0].partition("=")[2])
