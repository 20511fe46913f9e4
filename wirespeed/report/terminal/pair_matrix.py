"""All pairs as a matrix: one cell per pair, coloured by how far it is from the median."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.wrapped_line import say
from wirespeed.report.facts import figures
from wirespeed.report.facts.slowest_teams import SMALL, by_pair
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import middle
from wirespeed.units import format_rate, format_size

MAX_RANKS = 32
"""A larger matrix does not fit a terminal; then only the slowest pairs are named."""
_COLOURS = ((0.02, "green"), (0.05, "bright_green"), (0.10, "yellow"), (0.25, "bright_red"))
_WORST = "bold red"


def print_matrices(console: Console, run: Run) -> None:
    """A matrix for each path and size."""
    for entry in (entry for path in run.paths for entry in run.of_path(path)):
        if ranks := ranks_of(entry):
            console.print()
            say(console, heading(entry), "bold")
            console.print(build(entry, ranks), crop=False)
    coloured = console.color_system is not None and not console.no_color
    if coloured and any(len(entry.teams) > 1 for entry in run.entries.values()):
        named = [(name.replace("bright_", "light "), share) for share, name in _COLOURS]
        shares = ", ".join(f"{name} up to {100 * share:.0f} %" for name, share in named)
        console.print()
        say(console, f"how much slower than the median: {shares}, bold red more", "dim")


def ranks_of(entry: Entry) -> list[int]:
    """The ranks of a matrix; none where two ranks are the only pair, or where there are too many."""
    ranks = sorted({rank for pair in by_pair(entry.teams) for rank in pair})
    return ranks if 2 < len(ranks) <= MAX_RANKS else []


def heading(entry: Entry) -> str:
    """'aware, 64 MiB: GB/s one way'."""
    unit = "one-way time in us" if entry.bytes <= SMALL else "GB/s one way"
    return f"{entry.path}, {format_size(entry.bytes)}: {unit}"


def build(entry: Entry, ranks: list[int]) -> Table[int]:
    """Rows and columns are ranks; the matrix is symmetric, and so both halves are there."""
    pairs = by_pair(entry.teams)
    median = middle(sorted(team.seconds for team in pairs.values()))

    def cell(column: int, row: int) -> Text | None:
        team = pairs.get((min(row, column), max(row, column)))
        if team is None:
            return Text(".", "dim") if row == column else None
        small = entry.bytes <= SMALL
        text = figures.microseconds(team.seconds) if small else format_rate(entry.amount / team.seconds)
        text += f" {figures.UNCERTAIN}" if team.uncertain else ""
        behind = team.seconds / median - 1
        return Text(text, next((name for limit, name in _COLOURS if behind <= limit), _WORST))

    columns: list[Column[int]] = [Column("rank", str, style="dim")]
    columns += [Column(str(rank), partial(cell, rank), gap=2) for rank in ranks]
    return table(columns, ranks, ruled=False)
