"""Figures that how far apart the ranks began is much of: which, and both numbers."""

from __future__ import annotations

from wirespeed.report.grouping import grouped, size_ranges
from wirespeed.results.runs import Entry, Run
from wirespeed.results.start import MUCH_SKEW
from wirespeed.units import format_seconds, format_size


def skewed(run: Run) -> list[Entry]:
    """Such figures."""
    return [entry for entry in run.entries.values() if entry.skew > MUCH_SKEW]


def notes(run: Run) -> list[str]:
    """A line for each path with such figures, by the one that it is most of."""
    paths = grouped((entry.path, entry) for entry in skewed(run))
    return [_line(run, entries) for entries in paths.values()]


def _line(run: Run, entries: list[Entry]) -> str:
    worst = max(entries, key=lambda entry: entry.skew)
    assert worst.start and worst.start.skew_s
    sizes = [entry.bytes for entry in run.of_path(worst.path)]
    where = size_ranges({entry.bytes for entry in entries}, sizes)
    several = f" of {worst.iterations_per_sample} iterations" if worst.iterations_per_sample > 1 else ""
    return (
        f"ranks start apart: {worst.path} at {where}; at {format_size(worst.bytes)} the last one starts "
        f"{format_seconds(worst.start.skew_s)} late in each sample{several} (by {worst.start.by}), and "
        f"the figure is {format_seconds(worst.seconds)}"
    )
