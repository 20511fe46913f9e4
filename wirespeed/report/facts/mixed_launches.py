"""Columns of a table whose figures are of several launches: ranks were started anew for some sizes."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.report.grouping import grouped
from wirespeed.results.runs import Run
from wirespeed.units import format_size


def notes(run: Run) -> list[str]:
    """A line for each path: which sizes were measured together. None where each column is of one launch."""
    return list(of_several(run).values())


def of_several(run: Run) -> dict[str, str]:
    """The lines by their paths."""
    each = [launch_entry for entry in run.entries.values() for launch_entry in entry.each]
    columns = grouped(((entry.path, entry.launch), entry) for entry in each)
    found: dict[str, str] = {}
    for (path, _), entries in columns.items():
        starts = list(grouped(((entry.run, entry.step), entry.bytes) for entry in entries).values())
        if len(starts) > 1:
            found.setdefault(path, _line(path, starts, resumed=len({entry.run for entry in entries}) > 1))
    return found


def _line(path: str, starts: Sequence[Sequence[int]], resumed: bool) -> str:
    spans = [
        " to ".join(dict.fromkeys(map(format_size, (min(sizes), max(sizes)))))
        for sizes in sorted(map(list, starts))
    ]
    why = "--resume" if resumed else "the ranks were started anew after a fault"
    return (
        f"{path}: one column, {len(starts)} launches ({why}): {', then '.join(spans)}; launches differ, "
        "which no interval here includes: compare sizes of one launch"
    )
