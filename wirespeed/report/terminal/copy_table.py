"""Copies inside ranks: each rank alone, and all at once; one row per kind of copy and size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rich.text import Text

from wirespeed.limits import Ceiling
from wirespeed.report.facts.markers import share_style, sign
from wirespeed.report.facts.shares import percent
from wirespeed.report.terminal.columns import Column, Table, table
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

ALONE, TOGETHER = "alone", "with all"
LEGEND = (
    "GB/s of one rank, the slowest one, alone and while all copy; all at once: ranks x the latter; share "
    "kept: what is left of a rank's rate when all copy; of limit: the slowest rank alone"
)


@dataclass(frozen=True)
class _CopyRow:
    """Rates are those of the slowest rank, in bytes per second; 0: unknown."""

    entry: Entry
    first: bool
    """The first of its path."""
    limit: Ceiling | None
    sign: str
    alone: float
    with_all: float


def slowest(entry: Entry, how: str) -> float | None:
    """Seconds of the slowest rank that copied ALONE or TOGETHER."""
    return max((team.seconds for team in entry.teams if team.name.endswith(how)), default=None)


def build(run: Run) -> Table[_CopyRow]:
    """GB/s of the slowest rank alone, of the slowest one while all copy, and of all together."""
    rows = []
    for path in run.paths:
        limit = run.ceiling(path)
        for number, entry in enumerate(run.of_path(path)):
            rates = [entry.amount / (slowest(entry, how) or math.inf) for how in (ALONE, TOGETHER)]
            rows.append(_CopyRow(entry, not number, limit, sign(run, entry, graded=True), *rates))
    columns: list[Column[_CopyRow]] = [
        Column("path", lambda row: row.entry.path if row.first else "", left=True),
        Column("size", lambda row: format_size(row.entry.bytes)),
        Column("slowest\nrank alone", lambda row: format_rate(row.alone) if row.alone else None, gap=3),
        Column("slowest\nwith all", _with_all, gap=3),
        Column("all\nat once", _all, gap=3),
        Column("share\nkept", _kept, gap=3),
    ]
    if any(row.limit for row in rows):
        columns.append(Column("of\nlimit", _share, gap=3))
    return table(columns, rows)


def _with_all(row: _CopyRow) -> Text | None:
    rate = row.with_all
    return Text.assemble((row.sign, "yellow"), format_rate(rate)) if rate else None


def _all(row: _CopyRow) -> str | None:
    ranks = sum(team.name.endswith(TOGETHER) for team in row.entry.teams)
    return format_rate(ranks * row.with_all) if row.with_all else None


def _kept(row: _CopyRow) -> Text | None:
    if not row.alone or not row.with_all:
        return None
    kept = row.with_all / row.alone
    return Text(f"{100 * kept:.0f} %", "yellow" if kept < 0.9 else "")


def _share(row: _CopyRow) -> Text | None:
    """Of the slowest rank alone."""
    if not row.alone or not row.limit:
        return None
    part = row.limit.share(row.alone, row.entry.bytes)
    exceeded = row.limit.exceeded(row.alone, row.entry.bytes)
    return None if part is None else Text(percent(part), share_style(part, exceeded=exceeded))
