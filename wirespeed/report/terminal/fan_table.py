"""One rank and all others: a row for each rank, a column for each path and direction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import Console

from wirespeed.report.facts import figures
from wirespeed.report.terminal.columns import Column, table
from wirespeed.report.terminal.pair_matrix import MOST_RANKS, SMALL
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

_WAYS = (("to all", "rank {} to all"), ("from all", "all to rank {}"))
"""A column's head, and the name of its team of a rank."""


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
        for entry in entries:
            for head, name in _WAYS:
                seconds = {
                    team.first: team.seconds for team in entry.teams if team.name == name.format(team.first)
                }
                if seconds:
                    columns.append(Column(f"{entry.path}\n{head}", partial(_cell, entry, seconds), gap=3))
                    ranks |= seconds.keys()
        if 0 < len(ranks) <= MOST_RANKS:
            unit = "time in us" if size <= SMALL else "GB/s of all messages"
            heading = f"{format_size(size)}: {unit}, one rank to all others and all others to one"
            yield heading, sorted(ranks), columns


def _cell(entry: Entry, seconds: dict[int, float], rank: int) -> str | None:
    if rank not in seconds:
        return None
    if entry.bytes <= SMALL:
        return figures.microseconds(seconds[rank])
    return format_rate(entry.amount / seconds[rank])
