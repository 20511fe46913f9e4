"""A program's paths: one row each, with the time of a step and what it consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from wirespeed.report.console.columns import Cell, Column, Table, filled, table
from wirespeed.report.facts import figures, programs
from wirespeed.report.facts.markers import share_style, sign, winners
from wirespeed.report.facts.shares import percent
from wirespeed.report.views.size_table import TableLayout, View, spread_cell
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import format_rate, format_seconds

_LEGEND = (
    "of copy: time of a copy of the same array, over the step; computation: the same kernels without "
    "transfers; visible: the step less its computation, with its 95 % interval; efficiency: against "
    "--ranks 1 in the same file"
)


@dataclass(frozen=True)
class _Row:
    """Of a path whose figure is impossible there is only the name, and that word."""

    path: str
    time: Text
    entry: Entry | None = None
    parts: programs.Parts | None = None


def _table(run: Run) -> Table[_Row]:
    """A row for each path with a figure."""
    rows = [_row(run, path) for path in run.paths]
    uncertain = any(row.entry is not None and row.entry.uncertain for row in rows)
    columns: list[Column[_Row]] = [
        Column("path", lambda row: row.path, left=True),
        Column(" a step", lambda row: row.time, gap=3),
        Column("95 %", _of(lambda entry, _: spread_cell(entry)), drop=0 if uncertain else 3),
        Column("sites/s", _of(_sites), gap=3),
        Column("GB/s\na rank", _of(lambda entry, _: format_rate(entry.rate)), gap=3, drop=2),
        Column("of\ncopy", _of(lambda _, parts: _share(parts.of_copy, parts.mark)), gap=3),
        Column("compu-\ntation", _of(lambda _, parts: _time(parts.compute)), gap=3),
        Column("visible", _of(lambda _, parts: _visible(parts, 0)), gap=3),
        Column("", lambda row: _visible(row.parts, 1) or "", style="dim", drop=1),
        Column("effi-\nciency", _of(lambda _, parts: _share(parts.efficiency, parts.efficiency_mark)), gap=3),
    ]
    return table(filled(columns, rows), rows)


def _row(run: Run, path: str) -> _Row:
    entries = run.of_path(path)[-1:]
    if not entries:
        return _Row(path, Text(IMPOSSIBLE, "red"))
    (entry,) = entries
    best = "bold green" if entry in winners(run, entry.bytes) else ""
    text = Text.assemble((sign(run, entry) or " ", "yellow"), (format_seconds(entry.seconds), best))
    return _Row(path, text, entry, programs.parts(run, entry))


def _of(cell: Callable[[Entry, programs.Parts], Cell]) -> Callable[[_Row], Cell]:
    """A dash where there is no figure."""
    return lambda row: cell(row.entry, row.parts) if row.entry and row.parts else None


def _sites(entry: Entry, _: programs.Parts) -> Cell:
    value = next((derived.median for derived in entry.derived if derived.unit == "sites/s"), None)
    return figures.quantity(value, "sites/s") if value else None


def _share(share: float | None, mark: str) -> Cell:
    return None if share is None else Text.assemble((mark, "yellow"), (percent(share), share_style(share)))


def _visible(parts: programs.Parts | None, part: int) -> str | None:
    """The difference, or half its interval's width."""
    return parts.visible_words[part] if parts and parts.visible_words else None


def _time(seconds: float | None) -> Cell:
    return None if seconds is None else format_seconds(seconds)


class ProgramView(View):
    """A row for each path, with what its step consists of, instead of curves."""

    curves = False
    caption = _LEGEND

    def tables(self, width: int, run: Run) -> Sequence[Table[Any]]:
        return [_table(run).fit(width)]

    def layout(self, width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
        return TableLayout(self.tables(width, run), spread=True)

    def tiles(self, run: Run, entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
        best = min(entries, key=lambda entry: entry.seconds)
        known = programs.parts(run, best)
        word = "not known" if known.efficiency is None else known.efficiency_mark + percent(known.efficiency)
        return [
            ("Shortest step", format_seconds(best.seconds), best.path),
            ("Efficiency", word, f"{best.path}, {run.head.plan.ranks} ranks against one"),
        ]
