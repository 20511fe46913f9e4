"""A run on a terminal: what was measured, the table, what its words mean, what failed and why."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import IO

from rich.console import Console
from rich.text import Text

from wirespeed.limits import Ceiling
from wirespeed.limits.ceilings import impossible
from wirespeed.report.facts import health
from wirespeed.report.facts.failures import print_failures
from wirespeed.report.facts.machine import placement, title
from wirespeed.report.facts.transport_choices import choices
from wirespeed.report.facts.wire_verdicts import beyond, misnamed, print_wires
from wirespeed.report.terminal import copy_table
from wirespeed.report.terminal.columns import Column, table
from wirespeed.report.terminal.legend import legend
from wirespeed.report.terminal.pair_matrix import print_matrices
from wirespeed.report.terminal.size_table import Layout, lay_out
from wirespeed.report.terminal.slowest_teams import print_slowest
from wirespeed.report.terminal.wrapped_line import say, say_all
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

PIPE_WIDTH = 100
_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.:-=+*#"


def make_console(stream: IO[str] | None = None) -> Console:
    """A console on the stream; one that is no terminal is plain, and wide enough for a table."""
    stream = sys.stdout if stream is None else stream
    width = None
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width = PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_run(console: Console, run: Run) -> None:
    """One run: title, table, legend, curves, failures."""
    console.print(Text(title(run), style="bold"))
    for line in placement(run):
        say(console, line, "dim")
    console.print()
    if run.entries:
        _print_figures(console, run)
    print_failures(console, run)
    if run.interrupted:
        console.print(Text("This run was ended before all was measured.", style="yellow"))


def _print_figures(console: Console, run: Run) -> None:
    copies = run.view == "copies" and any(len(entry.teams) > 1 for entry in run.entries.values())
    layout = Layout([copy_table.build(run)], compact=True) if copies else lay_out(console.width, run)
    for one in layout.tables:
        console.print(one, crop=False)
        console.print()
    for line in [*legend(run, layout), *([copy_table.LEGEND] if copies else [])]:
        say(console, line, "dim")
    if run.view == "matrix":
        print_matrices(console, run)
    if not copies:
        print_slowest(console, run)
    print_curves(console, run)
    say_all(console, [f"{paths}: {text}" for paths, text in choices(run)], "dim")
    print_wires(console, run)
    say_all(console, [*health.notes(run), *health.standing(run)], "yellow")
    for line in [*misnamed(run), *beyond(run)]:
        say(console, line, "bold red")


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
    marks = _ASCII if console.options.ascii_only else _BLOCKS
    rates = [entry.rate for entry in run.entries.values() if entry.bytes]

    def curve(path: str) -> str:
        entries = {entry.bytes: entry.rate for entry in run.of_path(path)}
        return sparkline([entries.get(size) for size in sizes], min(rates), max(rates), marks)

    def note(half: bool, path: str) -> Text:
        limit, entries = run.ceiling(path), [entry for entry in run.of_path(path) if entry.bytes]
        too_much = limit and impossible(max(entry.rate for entry in entries) / limit.rate)
        return Text(curve_note(entries, half=half, limit=limit), "bold red" if too_much else "")

    paths = [path for path in run.paths if any(entry.bytes for entry in run.of_path(path))]
    for half in (True, False):
        columns: list[Column[str]] = [
            Column("", str, left=True),
            Column("", curve, style="cyan", gap=2, left=True),
            Column("", partial(note, half), gap=2, left=True),
        ]
        found = table(columns, paths, ruled=False)
        if found.width <= console.width:
            console.print()
            say(
                console, f"GB/s from {format_size(sizes[0])} to {format_size(sizes[-1])}, logarithmic:", "dim"
            )
            console.print(found)
            return
