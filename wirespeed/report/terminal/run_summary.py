"""A run on a terminal: what was measured, the table, what its words mean, what failed and why."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wirespeed.limits.ceilings import Ceiling, impossible
from wirespeed.report.facts.failures import print_failures
from wirespeed.report.facts.machine import placement, title
from wirespeed.report.facts.transport_choices import choices
from wirespeed.report.facts.wire_verdicts import beyond, misnamed, print_wires
from wirespeed.report.terminal import copy_table, size_table
from wirespeed.report.terminal.legend import legend
from wirespeed.report.terminal.pair_matrix import print_matrices
from wirespeed.report.terminal.slowest_teams import print_members
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

PIPE_WIDTH = 100
_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.:-=+*#"


def make_console(stream: IO[str] | None = None) -> Console:
    """A console on the stream: sober where it is no terminal, and wide enough for a table there."""
    stream = sys.stdout if stream is None else stream
    width = None
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width = PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_runs(console: Console, runs: Sequence[Run]) -> None:
    """Every run, one below the other."""
    for number, run in enumerate(runs):
        if number:
            console.print()
            console.rule(style="dim")
        print_run(console, run)


def print_run(console: Console, run: Run) -> None:
    """One run: title, table, legend, curves, failures."""
    console.print(Text(title(run), style="bold"))
    for line in placement(run):
        say(console, Text(line, style="dim"))
    console.print()
    if run.entries:
        layout = _layout(console, run)
        for one in layout.tables:
            console.print(one, crop=False, no_wrap=True)
            console.print()
        for line in legend(run, layout):
            say(console, Text(line, style="dim"))
        if run.view == "matrix":
            print_matrices(console, run)
        if run.view == "copies" and several(run):
            say(console, Text(copy_table.LEGEND, style="dim"))
        else:
            print_members(console, run)
        print_curves(console, run)
        print_choices(console, run)
        print_wires(console, run)
        for line in [*misnamed(run), *beyond(run)]:
            say(console, Text(line, style="bold red"))
    print_failures(console, run)
    if run.interrupted:
        console.print(Text("This run was ended before all was measured.", style="yellow"))


def several(run: Run) -> bool:
    """Do figures consist of several teams'?"""
    return any(len(entry.members) > 1 for entry in run.entries.values())


def _layout(console: Console, run: Run) -> size_table.Layout:
    """The tables that suit the pattern."""
    if run.view == "copies" and several(run):
        return size_table.Layout([copy_table.build(run)], compact=True)
    return size_table.lay_out(console, run)


def print_choices(console: Console, run: Run) -> None:
    """What each path chose, where it says so."""
    lines = choices(run)
    if lines:
        console.print()
    for paths, text in lines:
        say(console, Text(f"{paths}: {text}", style="dim"))


def sparkline(values: Sequence[float | None], low: float, high: float, marks: str = _BLOCKS) -> str:
    """One character a value, on a logarithmic scale from low to high; a blank where there is none."""
    span = math.log(high / low) if high > low else 0.0
    line = ""
    for value in values:
        if value is None or value <= 0:
            line += " "
            continue
        share = math.log(value / low) / span if span else 1.0
        line += marks[min(len(marks) - 1, max(0, int(share * len(marks))))]
    return line


def curve_note(entries: Iterable[Entry], *, half: bool = True, limit: Ceiling | None = None) -> str:
    """'peak 394 GB/s at 1 GiB, 88 % of limit, half of it from 4 MiB'."""
    ranked = sorted((e for e in entries if e.bytes), key=lambda e: e.bytes)
    peak = max(ranked, key=lambda e: e.rate)
    start = next(e for e in ranked if e.rate >= peak.rate / 2)
    note = f"peak {format_rate(peak.rate)} GB/s at {format_size(peak.bytes)}"
    if limit:
        note += f", {100 * peak.rate / limit.rate:.0f} % of limit"
    return f"{note}, half of it from {format_size(start.bytes)}" if half and start is not peak else note


def print_curves(console: Console, run: Run) -> None:
    """Bandwidth over size, one line a path, all on one scale."""
    sizes = [size for size in run.sizes if size]
    if len(sizes) < 3:
        return
    choices = [_curves(console, run, sizes, half=True), _curves(console, run, sizes, half=False)]
    grid = next((choice for choice in choices if size_table.fits(console, choice)), None)
    if grid is not None:
        console.print()
        ends = f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
        say(console, Text(f"GB/s from {ends}, logarithmic:", style="dim"))
        console.print(grid)


def _note(run: Run, path: str, entries: Iterable[Entry], *, half: bool) -> Text:
    limit = run.ceiling(path)
    found = list(entries)
    too_much = limit and impossible(max(entry.rate for entry in found) / limit.rate)
    return Text(curve_note(found, half=half, limit=limit), "bold red" if too_much else "")


def _curves(console: Console, run: Run, sizes: Sequence[int], *, half: bool) -> Table:
    marks = _ASCII if console.options.ascii_only else _BLOCKS
    rates = [entry.rate for entry in run.entries.values() if entry.bytes]
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    for _ in range(3):
        grid.add_column(no_wrap=True)
    for path in run.paths:
        entries = {entry.bytes: entry for entry in run.of_path(path) if entry.bytes}
        if entries:
            values = [entries[size].rate if size in entries else None for size in sizes]
            line = sparkline(values, min(rates), max(rates), marks)
            grid.add_row(Text(path), Text(line, style="cyan"), _note(run, path, entries.values(), half=half))
    return grid
