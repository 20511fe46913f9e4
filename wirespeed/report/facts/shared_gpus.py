"""Ranks that share a GPU, or use slices of one: which, what that costs, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.host.process import span
from wirespeed.report.facts.machine import device_title
from wirespeed.report.grouping import grouped
from wirespeed.results.parts import Rank
from wirespeed.results.runs import Run

COST = (
    "on an H200 that has cost 145 us for 8 B by ipc-write, against 7.3 us between two GPUs "
    "(from docs/devices.md, not measured in this run)"
)
_TURNS = f"they take turns: {COST}"
_MPS = {
    "running": "MPS is running, by which their work can run at the same time",
    "elsewhere": f"MPS is running, but not with their pipe folder (CUDA_MPS_PIPE_DIRECTORY), so {_TURNS}",
    "unseen": f"MPS has a pipe folder here, but none of its processes can be seen; without it {_TURNS}",
    "none": f"MPS is not running, so {_TURNS}; the remedy is MPS, by which their work can run at the same "
    "time: nvidia-cuda-mps-control -d",
}


def notes(run: Run) -> list[str]:
    """A line for each way in which this run's ranks share GPUs; none where every rank has its own."""
    found: dict[str, None] = {}
    for step in run.steps:
        found |= dict.fromkeys([*_shared(step.ranks), *_slices(step.ranks)])
    return list(found)


def _shared(ranks: Sequence[Rank]) -> Iterator[str]:
    """Ranks with one device, those with the same remedy in one line."""
    devices = grouped(((rank.host, rank.device.id), rank) for rank in ranks if rank.device and rank.device.id)
    several = [sharing for sharing in devices.values() if len(sharing) > 1]
    for mps, groups in grouped((sharing[0].mps, sharing) for sharing in several).items():
        who = ", ".join(map(_group, groups[:3])) + (
            f", ... {len(groups)} GPUs in all" if len(groups) > 3 else ""
        )
        yield f"{who}: {_MPS[mps]}" if isinstance(mps, str) and mps in _MPS else who


def _group(sharing: Sequence[Rank]) -> str:
    device = sharing[0].device
    assert device
    return f"ranks {span(rank.rank for rank in sharing)} share {device_title(device)}"


def _slices(ranks: Sequence[Rank]) -> Iterator[str]:
    """Ranks with devices of their own that are parts of one GPU."""
    boards = grouped(
        ((rank.host, rank.device.pci), rank) for rank in ranks if rank.device and rank.device.pci
    )
    for (_, pci), sharing in boards.items():
        if len({rank.device.id for rank in sharing if rank.device}) > 1:
            who = f"ranks {span(rank.rank for rank in sharing)} use slices of one GPU ({pci}): they"
            yield (
                f"{who} share its PCIe slot and its counters, have no peer access to each other, and no "
                "limit of theirs is known"
            )
