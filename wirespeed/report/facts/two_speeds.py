"""Words for figures that switched between two speeds (statistics/two_speeds.py)."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.report.facts import figures
from wirespeed.results.runs import Entry
from wirespeed.units import format_size


def notes(entries: Sequence[Entry]) -> list[str]:
    """'two speeds by turns: host at 4 MiB, 263 us or 413 us'; what differs most stands for others."""
    both = [(entry, entry.times.speeds) for entry in entries if entry.times.speeds]
    if not both:
        return []
    entry, (fast, slow) = max(both, key=lambda item: item[1][1] / item[1][0])
    more = f", and {len(both) - 1} more" if len(both) > 1 else ""
    times = " or ".join(figures.time_of(entry, seconds) for seconds in (fast, slow))
    return [f"two speeds by turns: {entry.path} at {format_size(entry.bytes)}, {times}{more}"]
