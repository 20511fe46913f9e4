"""An MPI that takes derived datatypes on device memory block by block, or crashes on them."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.job.cause import CauseKind
from wirespeed.results.runs import Entry
from wirespeed.units import format_seconds, format_size

TYPES, PACKED = "aware-datatype", "aware-packed"
MIN_RATIO = 5.0
"""So many times the time of packing, beyond the intervals."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """The latest run that has lists of blocks packed on device memory counts."""
    for run in reversed(facts.runs):
        packed = {entry.bytes: entry for entry in run.of_path(PACKED)}
        if not packed:
            continue
        slow = [
            (entry, packed[entry.bytes])
            for entry in run.of_path(TYPES)
            if entry.bytes in packed and entry.low > MIN_RATIO * packed[entry.bytes].high
        ]
        failed = (failure for failure in run.failures if failure.path == TYPES)
        crashes = (failure for failure in failed if failure.cause.kind == CauseKind.CRASH)
        crashed = next(crashes, None) if run.of_path("aware") else None
        if slow:
            yield _finding(facts, "takes derived datatypes on device memory block by block", _seen(slow))
        elif crashed:
            yield _finding(facts, "crashes on derived datatypes on device memory", crashed.text, Cost.BREAKS)
        return


def _seen(slow: list[tuple[Entry, Entry]]) -> str:
    types, packed = max(slow, key=lambda pair: pair[0].seconds / pair[1].seconds)
    return (
        f"a list of {format_size(types.bytes)} blocks takes {format_seconds(types.seconds)} as a datatype, "
        f"{format_seconds(packed.seconds)} packed by a kernel"
    )


def _finding(facts: MachineFacts, what: str, seen: str, cost: str = Cost.HIGH) -> Finding:
    return Finding(
        "mpi-datatypes",
        f"this MPI {what}",
        cost,
        (f"{facts.file}: {seen}",),
        (
            "pack the blocks by a kernel of yours, and send one contiguous message",
            "wirespeed blocks --paths aware,aware-datatype,aware-packed  # what each costs here",
        ),
        source="docs/patterns.md",
    )
