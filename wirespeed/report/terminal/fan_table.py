"""One rank and all others: a row for each rank, a column for each path and direction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import Console

from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.wrapped_line import say
from wirespeed.report.facts import figures
from wirespeed.report.facts.slowest_teams import SMALL, WAYS, by_rank
from wirespeed.report.terminal.pair_matrix import MAX_RANKS
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size


def print_fans(console: Console, run: Run) -> None:
    """A table for each size."""
    for heading, ranks, columns in tables(run):
        console.print()
        say(console, heading, "bold")
        console.print(table(columns, ranks), crop=False)


def tables(run: Run) -> Iterator[tuple[str, list[int], list[Column[int]]]]:
    """(heading, ranks, columns) for each size, where they fit a terminal."""
    for size in run.sizes:
        entries = [entry for path in run.paths for entry in run.of_path(path) if entry.bytes == size]
        columns: list[Column[int]] = [Column("rank", str, style="dim")]
        ranks: set[int] = set()
        heads: dict[str, None] = {}
        for entry in entries:
            for head, teams in by_rank(entry).items():
                columns.append(Column(f"{entry.path}\n{head}", partial(_cell, entry, teams), gap=3))
                ranks |= teams.keys()
                heads[head] = None
        if 0 < len(ranks) <= MAX_RANKS:
            unit = "time in us" if size <= SMALL else "GB/s of all messages"
            what = " and ".join(WAYS[head][1] for head in heads)
            yield f"{format_size(size)}: {unit}, {what}", sorted(ranks), columns


def _cell(entry: Entry, teams: dict[int, TeamFigure], rank: int) -> str | None:
    if rank not in teams:
        return None
    seconds, small = teams[rank].seconds, entry.bytes <= SMALL
    text = figures.microseconds(seconds) if small else format_rate(entry.amount / seconds)
    return f"{text} {figures.UNCERTAIN}" if teams[rank].uncertain else text
