"""Figures that are the scheduler's as much as the path's, because ranks waited for CPUs: which, and why."""

from __future__ import annotations

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import CONTENDED
from wirespeed.report.grouping import grouped
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_size


def contended(run: Run) -> list[str]:
    """A line for each cause, with the figures that it is in; none where every rank had its CPU."""
    found = [entry for entry in run.entries.values() if entry.contended]
    causes = grouped((entry.cores.shared if entry.cores else None, entry) for entry in found)
    return [_line(cause, entries) for cause, entries in causes.items()]


def marked(run: Run) -> list[str]:
    """The same lines for a table, which has the mark in its cells."""
    return [f"{CONTENDED} {line}" for line in contended(run)]


def _line(shared: str | None, entries: list[Entry]) -> str:
    paths = ", ".join(dict.fromkeys(entry.path for entry in entries))
    sizes = sorted({entry.bytes for entry in entries})
    where = " to ".join(dict.fromkeys(map(format_size, (sizes[0], sizes[-1]))))
    waits = [entry.cores.waited for entry in entries if entry.cores and entry.cores.waited is not None]
    waited = f"waited for a CPU up to {figures.percent(round(max(waits), 2))} of the time" if waits else ""
    if shared:
        what, remedy = "ranks take turns on CPUs", "give each rank a CPU of its own"
        why = f"{shared}, and one {waited}" if waited else shared
    else:
        what, remedy = "slowed by other processes", "measure again when nothing else runs"
        why = f"a rank {waited}"
    return f"{what}: {paths} at {where}; {why}; {remedy}"
