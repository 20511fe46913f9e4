"""Figures as shares of their limits: one judgement for every table, page and export."""

from __future__ import annotations

from wirespeed.grouping import together
from wirespeed.limits import Ceiling
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_size

PROCESSORS = {"memory": "CPU", "device memory": "GPU"}
"""Whose caches are before a memory."""


def share(entry: Entry, limit: Ceiling | None) -> float | None:
    """None without a limit, or where it does not apply: a message that fits the caches needs no memory."""
    return limit.share(entry.rate, entry.bytes) if limit and entry.amount else None


def exceeds(entry: Entry, limit: Ceiling | None) -> bool:
    """True where the figure is above a limit that applies to it, and above the interval of a measured one."""
    return bool(limit and entry.amount and limit.exceeded(entry.rate, entry.bytes))


def percent(part: float | None) -> str:
    """'88 %'; a dash where there is no limit."""
    return "-" if part is None else f"{100 * part:.0f} %"


def unlimited(run: Run) -> list[str]:
    """At which sizes there is no percentage, and why: alike paths in one line."""
    found = []
    for path in run.paths:
        limit, entries = run.ceiling(path), run.of_path(path)
        free = [entry.bytes for entry in entries if limit and entry.amount and not limit.applies(entry.bytes)]
        if limit and free:
            found.append(((limit.wire, format_size(max(free))), path))
    return [
        f"{paths}: no limit applies up to {size}, which fits the {PROCESSORS.get(wire, wire)}'s caches"
        for paths, (wire, size) in together(found)
    ]
