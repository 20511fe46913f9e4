"""Messages from new memory: how many were right, and how much more the first one takes."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.report.grouping import grouped
from wirespeed.results.runs import Run
from wirespeed.units import format_seconds, format_size


def lines(run: Run) -> Iterator[tuple[str, str]]:
    """('new memory, host', '8 B 12.1 us, then 1.40 us; 64 KiB ...; 200 messages of each size, all right')."""
    found = grouped((fresh.path, fresh) for fresh in run.fresh.values())
    for path, records in found.items():
        each = [
            f"{format_size(one.bytes)} {format_seconds(one.seconds)}, then {format_seconds(one.known_s)}"
            for one in sorted(records, key=lambda one: one.bytes)
        ]
        number = max(one.messages for one in records)
        yield f"new memory, {path}", f"{'; '.join(each)}; {number:,} messages of each size, all right"
