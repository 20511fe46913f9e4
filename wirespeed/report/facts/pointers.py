"""Whose device memory the figures are of, as its allocator was called and as the driver describes it."""

from __future__ import annotations

from wirespeed.report.grouping import grouped
from wirespeed.results.model import StepRecord
from wirespeed.results.pointers import Pointer
from wirespeed.results.runs import Run

CONTEXTS = {
    "primary": "the primary context's",
    "own": "of a context that is not the primary one",
    "none": "no context's",
}


def memory_lines(run: Run) -> list[str]:
    """A line for each kind of device memory that somebody other than the driver handed out."""
    told = grouped((of_step(step), step.path) for step in run.steps if step.allocator != "driver")
    lines = [(words, ", ".join(dict.fromkeys(paths))) for words, paths in told.items() if words]
    if len(lines) == 1:
        return [f"GPU memory by {run.head.plan.allocator}: {lines[0][0]}"]
    return [f"GPU memory of {paths} by {run.head.plan.allocator}: {words}" for words, paths in lines]


def of_step(step: StepRecord) -> str:
    """'device memory by libgomp.so.1, the primary context's, with IPC handles'; ranks that differ apart."""
    kinds = grouped((_words(pointer), pointer.rank) for pointer in step.pointers)
    if len(kinds) == 1:
        return next(iter(kinds))
    return "; ".join(f"rank {', '.join(map(str, ranks))} {words}" for words, ranks in kinds.items())


def _words(pointer: Pointer) -> str:
    handles = {True: "with IPC handles", False: "without IPC handles", None: ""}[pointer.ipc]
    adapters = {True: "", False: "out of reach of GPUDirect RDMA", None: ""}[pointer.rdma]
    memory = f"{pointer.memory or 'unknown'} memory"
    memory += f" from {pointer.library}" if pointer.library else ""
    return ", ".join(filter(None, (memory, CONTEXTS.get(pointer.context or "", ""), handles, adapters)))
