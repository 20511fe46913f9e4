"""Messages from new memory: how many were right, and how much more the first one takes."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.report.grouping import grouped
from wirespeed.results.runs import Run
from wirespeed.statistics.samples import middle
from wirespeed.units import format_seconds, format_size


def lines(run: Run) -> Iterator[tuple[str, str]]:
    """('new memory, host', '8 B 12.1 us, then 1.40 us; 64 KiB ...; 200 messages of each size, all right').

    Of several launches, medians and the sum of their messages.
    """
    found = grouped((fresh.path, fresh) for fresh in run.fresh.values())
    for path, records in found.items():
        sizes = sorted(grouped((one.bytes, one) for one in records).items())
        first = [middle(sorted(one.seconds for one in launches)) for _, launches in sizes]
        known = [middle(sorted(one.known_s for one in launches)) for _, launches in sizes]
        each = [
            f"{format_size(size)} {format_seconds(cold)}, then {format_seconds(warm)}"
            for (size, _), cold, warm in zip(sizes, first, known, strict=True)
        ]
        number = max(sum(one.messages for one in launches) for _, launches in sizes)
        yield f"new memory, {path}", f"{'; '.join(each)}; {number:,} messages of each size, all right"
