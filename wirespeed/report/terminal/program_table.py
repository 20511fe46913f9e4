"""A program's paths: one row each, with the time of a step and what it consists of."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from wirespeed.report.facts import figures, programs
from wirespeed.report.facts.markers import mark, share_style, sign, winners
from wirespeed.report.facts.shares import percent
from wirespeed.report.terminal.columns import Cell, Column, Table, table
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_seconds

LEGEND = (
    "of copy: time of a copy of the same array, over the step; computation: the same kernels without "
    "transfers; visible: what transfers add to it; efficiency: against --ranks 1 in the same file"
)


@dataclass(frozen=True)
class _Row:
    entry: Entry
    parts: programs.Parts
    time: Text


def build(run: Run) -> Table[_Row]:
    """A row for each path with a figure."""
    rows = [_row(run, path) for path in run.paths]
    columns: list[Column[_Row]] = [
        Column("path", lambda row: row.entry.path, left=True),
        Column(" a step", lambda row: row.time, gap=3),
        Column("95 %", _spread, drop=3),
        Column("sites/s", _sites, gap=3),
        Column("GB/s\na rank", lambda row: format_rate(row.entry.rate), gap=3, drop=2),
        Column("of\ncopy", lambda row: _share(row.parts.of_copy), gap=3),
        Column("compu-\ntation", lambda row: _time(row.parts.compute), gap=3),
        Column("visible", lambda row: _time(row.parts.visible), gap=3),
        Column("effi-\nciency", lambda row: _share(row.parts.efficiency), gap=3),
    ]
    kept = [column for column in columns if any(column.cell(row) is not None for row in rows)]
    return table(kept, rows)


def _row(run: Run, path: str) -> _Row:
    (entry,) = run.of_path(path)[-1:]
    best = "bold green" if entry in winners(run, entry.bytes) else ""
    text = Text.assemble((sign(run, entry) or " ", "yellow"), (format_seconds(entry.seconds), best))
    return _Row(entry, programs.parts(run, entry), text)


def _spread(row: _Row) -> Cell:
    return Text(figures.spread(row.entry.precision), "yellow" if mark(row.entry) else "dim")


def _sites(row: _Row) -> Cell:
    value = next((one.median for one in row.entry.derived if one.unit == "sites/s"), None)
    return figures.quantity(value, "sites/s") if value else None


def _share(share: float | None) -> Cell:
    return None if share is None else Text(percent(share), share_style(share))


def _time(seconds: float | None) -> Cell:
    return None if seconds is None else "none" if seconds == 0 else format_seconds(seconds)
