"""Table of where each path's time went: --timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console

from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.export.timeline import StepRanges

COLUMNS = {
    "sampling": ("batch", "warm-up"),
    "checking": ("check",),
    "counting": ("counting",),
    "set-up": ("set-up",),
    "protocol": ("protocol", "trial"),
    "limits": ("limits", "computation"),
    "constant": ("constant",),
    "health": ("health",),
    "connecting": ("connect", "introduce"),
    "starting": ("start",),
}
"""Kinds of rank 0's ranges (rank/ranges.py) by column."""
NOTE = (
    "starting: processes until they join MPI; protocol: trials, and the transport's choice for each size; "
    "limits: copies, and a program's computation alone; other: what lies between, and the processes' end"
)


@dataclass(frozen=True)
class _TimingRow:
    name: str
    seconds: Mapping[str, float]
    known: bool = True
    """Has anything but the total been told?"""

    def cell(self, name: str) -> str | None:
        return f"{self.seconds[name]:.2f}" if self.known or name == "total" else None


def seconds_of(step: StepRanges) -> dict[str, float]:
    """Seconds of each column, on rank 0; what no range has is `other`. Their sum is `total`."""
    # Where MPIs are tried one after the other, each has a message.
    told = [message for message in step.ranks if message.rank == 0]
    totals = Counter[str]()
    for message in told:
        totals.update(message.totals)
    found = {name: sum(totals[kind] for kind in kinds) / 1e9 for name, kinds in COLUMNS.items()}
    if told and told[0].rows:
        began = min(row[2] for row in told[0].rows) + told[0].shift
        # A rank that has measured another path before was not started for this one.
        found["starting"] += max(began - step.begin, 0) / 1e9 if "start" in told[0].totals else 0.0
    total = (step.end - step.first) / 1e9
    return {"total": total, **found, "other": total - sum(found.values())}


def print_timing(console: Console, steps: Sequence[StepRanges]) -> None:
    """One row per path and launch, and one for their sums; the columns are seconds."""
    if not steps:
        return
    several = any(step.launch > 1 for step in steps)
    names = [f"{step.path} #{step.launch}" if several else step.path for step in steps]
    rows = [_TimingRow(name, seconds_of(s), bool(s.ranks)) for name, s in zip(names, steps, strict=True)]
    sums = {name: sum(row.seconds[name] for row in rows) for name in rows[0].seconds}
    if len(rows) > 1:
        rows.append(_TimingRow("all", sums))
    # A column that would be 0.00 everywhere is left out.
    shown = [name for name in sums if any(row.seconds[name] >= 0.005 for row in rows)]
    columns = [Column[_TimingRow]("path", lambda row: row.name, left=True)]
    columns += [Column(name, partial(_TimingRow.cell, name=name), gap=2) for name in shown]
    console.print()
    say(console, "where the time went, in seconds", "bold")
    console.print(table(columns, rows), crop=False)
    say(console, NOTE, "dim")
