"""All pairs as a matrix: one cell a pair, coloured by how far it stands from the usual one."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wirespeed.report.facts import figures
from wirespeed.report.terminal.slowest_teams import by_pair
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import middle
from wirespeed.units import format_rate, format_size

SMALL = 65536
"""Messages up to this size are shown by their time, larger ones by their bandwidth."""
MOST_RANKS = 32
"""More do not fit a terminal: then there are only the slowest pairs, and the file."""
_COLOURS = ((0.02, "green"), (0.05, "bright_green"), (0.10, "yellow"), (0.25, "bright_red"))
_WORST = "bold red"


def print_matrices(console: Console, run: Run) -> None:
    """A matrix for each path and size."""
    for path in run.paths:
        for entry in run.of_path(path):
            pairs = by_pair(entry.members)
            ranks = sorted({rank for pair in pairs for rank in pair})
            if not 2 < len(ranks) <= MOST_RANKS:
                continue
            table = build(entry, ranks)
            unit = "one-way time in us" if entry.bytes <= SMALL else "GB/s one way"
            console.print()
            say(console, Text(f"{path}, {format_size(entry.bytes)}: {unit}", style="bold"))
            console.print(table, crop=False, no_wrap=True)
    coloured = console.color_system is not None and not console.no_color
    if coloured and any(len(entry.members) > 1 for entry in run.entries.values()):
        named = [(name.replace("bright_", "light "), share) for share, name in _COLOURS]
        shares = ", ".join(f"{name} to {share:.0%}" for name, share in named)
        console.print()
        say(console, Text(f"colours: slower than the median by {shares}, bold red beyond", style="dim"))


def build(entry: Entry, ranks: list[int]) -> Table:
    """Rows and columns are ranks; the matrix is symmetric, and so both halves are there."""
    pairs = by_pair(entry.members)
    usual = middle(sorted(member.seconds for member in pairs.values()))
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 1), header_style="dim")
    table.add_column("rank", justify="right", style="dim", no_wrap=True)
    for rank in ranks:
        table.add_column(str(rank), justify="right", no_wrap=True)
    for row in ranks:
        cells = [Text(str(row))]
        for column in ranks:
            member = pairs.get((min(row, column), max(row, column)))
            if member is None:
                cells.append(Text("." if row == column else "-", style="dim"))
                continue
            small = entry.bytes <= SMALL
            text = (
                figures.microseconds(member.seconds) if small else format_rate(entry.amount / member.seconds)
            )
            cells.append(Text(text, style=colour(member.seconds / usual - 1)))
        table.add_row(*cells)
    return table


def colour(behind: float) -> str:
    """How a pair that takes so much longer than the usual one looks."""
    return next((name for limit, name in _COLOURS if behind <= limit), _WORST)
