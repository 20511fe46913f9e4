"""Device memory that was allocated before any CUDA context was current, as --context own makes it."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.host.gpu_aware_mpi import OWN_CONTEXT_REMEDY
from wirespeed.host.mpi import title_of
from wirespeed.results.runs import Run
from wirespeed.units import format_size


def find(facts: MachineFacts) -> Iterator[Finding]:
    """Findings of the latest run that has tried it."""
    for run in reversed(facts.runs):
        if run.head.plan.context == "own":
            yield from _of_run(run, facts.file)
            return


def _of_run(run: Run, file: str) -> Iterator[Finding]:
    # An MPI that failed before another one took its place fails at any device pointer.
    refused = next((failure for failure in run.failures if failure.path == "aware"), None)
    refused = None if run.of_path("aware") else refused
    staged = [evidence for evidence in run.evidence_of("aware") if evidence.verdict == "staged"]
    if refused:
        did, cost, seen = "is refused by MPI or ends the program", Cost.BREAKS, refused.text
    elif staged:
        did, cost = "goes through host memory", Cost.HIGH
        seen = f"counters of the wires at {format_size(staged[-1].bytes)}: {staged[-1].text}"
    else:
        return
    mpi = run.step("aware").mpi
    by = f" with {title_of(mpi.vendor, mpi.version)}" if mpi else ""
    allocator = run.head.plan.allocator
    yield Finding(
        "context-after-memory",
        f"Memory of {allocator} that is older than any current CUDA context {did}",
        cost,
        (f"{file}{by}: {seen}",),
        (
            f"{OWN_CONTEXT_REMEDY}  # before the first allocation, target or data region",
            f"wirespeed pingpong --paths aware,staged --allocator {allocator}  # with the primary context",
        ),
        source="docs/devices.md; GCC's libgomp/plugin/plugin-nvptx.c, nvptx_open_device",
    )
