"""The same measurement on one host and across several: the latency of each mode, and its bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts.cells import rate_cell, time_cell
from wirespeed.results.runs import CONDITIONS, Entry, Run
from wirespeed.units import counted, format_size

MODES = {
    "aware": "device pointers, GPUDirect",
    "aware-nogdr": "device pointers, no GPUDirect",
    "staged": "copies before and after MPI",
    "host": "host buffers",
}
"""In the order of the table; other paths follow."""


@dataclass(frozen=True)
class _Half:
    """A run, and the sizes that both have."""

    run: Run
    title: str
    least: int
    most: int

    def time(self, path: str) -> Text | None:
        entry = self.run.entries.get((path, self.least))
        return Text("".join(time_cell(self.run, entry))) if entry else None

    def rate(self, path: str) -> Text | None:
        entry = self.run.entries.get((path, self.most))
        return Text("".join(rate_cell(self.run, entry))) if entry and entry.amount else None


def print_halves(console: Console, runs: Sequence[Run], across: Run) -> None:
    """A line for each path. `runs`: those among which to look for the same on one host; prints nothing
    without one.
    """
    within = _on_one_host(runs, across)
    if within is None:
        return
    both = [sizes for run in (within, across) if (sizes := {entry.bytes for entry in _sized(run)})]
    common = sorted(set.intersection(*both)) if len(both) == 2 else []
    if not common:
        return
    paths = [path for path in across.paths if path in within.paths]
    order = [*(path for path in MODES if path in paths), *(path for path in paths if path not in MODES)]
    several = counted(_hosts(across), "host")
    columns: list[Column[str]] = [
        Column("path", str, left=True),
        Column("", lambda path: MODES.get(path, ""), left=True, gap=2, style="dim", drop=1),
    ]
    for half in (
        _Half(within, "one host", common[0], common[-1]),
        _Half(across, several, common[0], common[-1]),
    ):
        columns.append(Column(format_size(half.least), half.time, gap=3, group=half.title))
        columns.append(Column(f"GB/s at {format_size(half.most)}", half.rate, gap=2, group=half.title))
    console.print()
    say(
        console, Text(f"on one host and on {several}: one way of the shortest message, and bandwidth", "bold")
    )
    console.print(table(columns, order).fit(console.width), crop=False)


def _sized(run: Run) -> list[Entry]:
    return [entry for entry in run.entries.values() if entry.bytes]


def _hosts(run: Run) -> int:
    return max((len({rank.host for rank in run.step(path).ranks}) for path in run.paths), default=0)


def _on_one_host(runs: Sequence[Run], across: Run) -> Run | None:
    """The last run that differs from this one only by its hosts, of which it has one."""

    def rest(run: Run) -> list[object]:
        return [value for name, value in zip(CONDITIONS, run.conditions, strict=True) if name != "hosts"]

    if not across.published or _hosts(across) < 2:
        return None
    same = (run for run in reversed(runs) if _hosts(run) == 1 and rest(run) == rest(across))
    return next(same, None)
