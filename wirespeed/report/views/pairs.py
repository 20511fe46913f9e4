"""All pairs of ranks, and one rank with all others: on a terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.console import say
from wirespeed.report.facts import figures
from wirespeed.report.facts.slowest_teams import SMALL, WAYS, by_pair, by_rank, describe, median_of
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import number, text
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

MAX_RANKS = 32
"""A larger matrix does not fit a terminal; then only the slowest pairs are named."""
FEWEST = 3
"""Ranks, below which there is but one pair."""
_COLOURS = ((0.02, "green"), (0.05, "bright_green"), (0.10, "yellow"), (0.25, "bright_red"))
_WORST = "bold red"


def print_pairs(console: Console, run: Run) -> None:
    """A matrix for each path and size, what its colours mean, and a table of fans for each size."""
    tables = [*matrix_tables(run)]
    for _, heading, matrix in tables:
        _print_table(console, heading, matrix)
    coloured = console.color_system is not None and not console.no_color
    if coloured and tables:
        named = [(name.replace("bright_", "light "), share) for share, name in _COLOURS]
        shares = ", ".join(f"{name} up to {100 * share:.0f} %" for name, share in named)
        console.print()
        say(console, f"how much slower than the median: {shares}, bold red more", "dim")
    for heading, fan in fan_tables(run):
        _print_table(console, heading, fan)


def _print_table(console: Console, heading: str, shown: Table[int]) -> None:
    console.print()
    say(console, heading, "bold")
    console.print(shown, crop=False)


def _entries(run: Run) -> list[Entry]:
    return [entry for path in run.paths for entry in run.of_path(path)]


def _ranks(entry: Entry) -> list[int]:
    """The ranks of a matrix; none where two ranks are the only pair."""
    ranks = sorted({rank for pair in by_pair(entry.teams) for rank in pair})
    return ranks if len(ranks) >= FEWEST else []


def matrix_tables(run: Run) -> Iterator[tuple[Entry, str, Table[int]]]:
    """(figure, 'aware, 64 MiB: GB/s one way', matrix) where it fits a terminal; both halves are there."""
    for entry in _entries(run):
        if 0 < len(ranks := _ranks(entry)) <= MAX_RANKS:
            unit = "one-way time in us" if entry.bytes <= SMALL else "GB/s one way"
            columns: list[Column[int]] = [Column("rank", str, style="dim")]
            cell = partial(_pair, entry, median_of(by_pair(entry.teams).values()))
            columns += [Column(str(rank), partial(cell, rank), gap=2) for rank in ranks]
            heading = f"{entry.path}, {format_size(entry.bytes)}: {unit}"
            yield entry, heading, table(columns, ranks, ruled=False)


def _pair(entry: Entry, median: float, column: int, row: int) -> Text | None:
    team = by_pair(entry.teams).get((min(row, column), max(row, column)))
    if team is None:
        return Text(".", "dim") if row == column else None
    behind = team.seconds / median - 1
    return Text(_figure(entry, team), next((name for limit, name in _COLOURS if behind <= limit), _WORST))


def _figure(entry: Entry, team: TeamFigure) -> str:
    small = entry.bytes <= SMALL
    words = figures.microseconds(team.seconds) if small else format_rate(entry.amount / team.seconds)
    return f"{words} {figures.UNCERTAIN}" if team.uncertain else words


_Fan = list[tuple[Entry, str, dict[int, TeamFigure]]]
"""Columns of one rank and all others: the figure, its direction, its teams by rank."""


def _fans(run: Run) -> Iterator[tuple[int, _Fan]]:
    """(size, its columns), for each size that has any."""
    for size in run.sizes:
        entries = [entry for entry in _entries(run) if entry.bytes == size]
        fan = [(entry, head, teams) for entry in entries for head, teams in by_rank(entry).items()]
        if fan:
            yield size, fan


def fan_tables(run: Run) -> Iterator[tuple[str, Table[int]]]:
    """(heading, a row for each rank and a column for each path and direction) for each size."""
    for size, fan in _fans(run):
        columns: list[Column[int]] = [Column("rank", str, style="dim")]
        for entry, head, teams in fan:
            columns.append(Column(f"{entry.path}\n{head}", partial(_of_rank, entry, teams), gap=3))
        ranks = sorted({rank for _, _, teams in fan for rank in teams})
        if len(ranks) <= MAX_RANKS:
            unit = "time in us" if size <= SMALL else "GB/s of all messages"
            what = " and ".join(dict.fromkeys(WAYS[head][1] for _, head, _ in fan))
            yield f"{format_size(size)}: {unit}, {what}", table(columns, ranks)


def _of_rank(entry: Entry, teams: dict[int, TeamFigure], rank: int) -> str | None:
    return _figure(entry, teams[rank]) if rank in teams else None


def matrices(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """The page's heatmaps: one for each run, path and size whose figures are those of pairs."""
    found = [(measured, entry) for measured in sets for entry in _entries(measured.run)]
    return [_matrix(measured, entry, ranks) for measured, entry in found if (ranks := _ranks(entry))]


def _matrix(measured: ReportRun, entry: Entry, ranks: list[int]) -> dict[str, Any]:
    pairs = by_pair(entry.teams)
    places = {rank: place for place, rank in enumerate(ranks)}
    return {
        "set": measured.number,
        "path": text(entry.path),
        "bytes": entry.bytes,
        "moved": entry.amount,
        "small": entry.bytes <= SMALL,
        "ranks": ranks,
        "usual": number(median_of(pairs.values())),
        "slowest": text(describe(entry)),
        "cells": [[places[a], places[b], number(member.seconds)] for (a, b), member in pairs.items()],
    }


def fans(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """The page's columns of ranks: one for each run and size with one rank and all others."""
    return [
        {
            "set": measured.number,
            "bytes": size,
            "small": size <= SMALL,
            "ranks": sorted({rank for _, _, teams in fan for rank in teams}),
            "columns": [_column(*column) for column in fan],
        }
        for measured in sets
        for size, fan in _fans(measured.run)
    ]


def _column(entry: Entry, head: str, teams: dict[int, TeamFigure]) -> dict[str, Any]:
    return {
        "path": text(entry.path),
        "head": head,
        "moved": entry.amount,
        "usual": number(median_of(teams.values())),
        "answer": text(f"{entry.path} {head}: {describe(entry, teams.values())}"),
        "cells": [[rank, number(team.seconds)] for rank, team in sorted(teams.items())],
    }
