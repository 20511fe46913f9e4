"""Figures that are the scheduler's as much as the path's, because ranks waited for CPUs: which, and why."""

from __future__ import annotations

from wirespeed.report.facts import figures
from wirespeed.report.grouping import grouped, size_ranges
from wirespeed.results.runs import Entry, Run

MAX_PLACES = 4

CAUSES = {
    "others": ("slowed by other processes", "measure again when nothing else runs"),
    "threads": ("slowed by their own threads", "give each rank more CPUs, or its libraries fewer threads"),
    "ranks": ("ranks met on a CPU", "give each rank a CPU of its own, where it stays"),
    "shared": ("ranks take turns on CPUs", "give each rank a CPU of its own"),
    None: ("ranks waited for CPUs", "measure again when nothing else runs on these CPUs"),
}
"""Words for the event and its remedy, by who had a rank's CPU."""


def contended(run: Run) -> list[str]:
    """A line for each cause, with the figures that it is in; none where every rank had its CPU."""
    found = [entry for entry in run.entries.values() if entry.contended]
    causes = grouped(((_cause(entry), entry.cores.shared if entry.cores else None), entry) for entry in found)
    return [_line(run, cause, shared, entries) for (cause, shared), entries in causes.items()]


def remedy(entries: list[Entry]) -> str:
    """Remedy for all of them: that of the first one's cause."""
    return CAUSES[_cause(entries[0])][1]


def _cause(entry: Entry) -> str | None:
    if entry.cores and entry.cores.shared:
        return "shared"
    by = entry.cores.by if entry.cores else None
    return by if by in CAUSES else None


def _line(run: Run, cause: str | None, shared: str | None, entries: list[Entry]) -> str:
    waits = [entry.cores.waited for entry in entries if entry.cores and entry.cores.waited is not None]
    waited = f"waited for a CPU up to {figures.percent(round(max(waits), 2))} of the time" if waits else ""
    what, helps = CAUSES[cause]
    why = ", and one ".join(filter(None, [shared, waited])) if shared else f"a rank {waited}"
    return f"{what}: {_where(run, entries)}; {why}; {helps}"


def _where(run: Run, entries: list[Entry]) -> str:
    """'host, staged at 8 B to 64 B and 1 MiB, aware at 8 B': these figures and no others."""
    sizes = grouped((entry.path, entry.bytes) for entry in entries)
    ranges = {
        path: size_ranges(own, [entry.bytes for entry in run.of_path(path)]) for path, own in sizes.items()
    }
    places = grouped((where, path) for path, where in ranges.items())
    if len(places) > MAX_PLACES:
        return f"{len(entries)} figures of {', '.join(sizes)}"
    return ", ".join(f"{', '.join(paths)} at {where}" for where, paths in places.items())
