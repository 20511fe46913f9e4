"""The table of a run: one row per size, a group of columns per path, folded where the terminal is narrow.

Of many paths: wirespeed/report/views/path_columns.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rich.text import Text

from wirespeed.report.console.columns import Cell, Column, Table, fold, table
from wirespeed.report.facts import figures, shares
from wirespeed.report.facts.contrasts import contrasts
from wirespeed.report.facts.figure_columns import figure_columns
from wirespeed.report.facts.legend import RANGE, Layout
from wirespeed.report.facts.markers import FASTEST, mark, share_style, sign, winners
from wirespeed.report.views import path_columns
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

MAX_WIDE = 4
"""More paths get a column each instead of three."""


@dataclass(frozen=True)
class TableLayout(Layout):
    """The tables of a run; two are equal where a legend of one explains the other."""

    tables: Sequence[Table[Any]] = field(compare=False)


def lay_out(width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
    """As few tables of these sizes as fit the width; more columns where there is room for them."""
    if len(run.paths) <= MAX_WIDE:
        tables = fold(run.paths, lambda paths, each: build(run, paths, sizes, alone=each == 1), width)
        # Speedups belong next to what they compare.
        if len(tables) == 1 or not contrasts(run):
            heads = {column.head for table in tables for column in table.columns}
            return TableLayout(tables, spread="95 %" in heads, extremes="min" in heads, stars=len(tables) > 1)
    return TableLayout(path_columns.lay_out(width, run, sizes), compact=True, wide=(RANGE,))


def build(run: Run, paths: Sequence[str], sizes: Sequence[int], *, alone: bool) -> Table[int]:
    """A table of these paths; one of all paths also has the speedups and the names of the fastest.

    `alone`: every path has a table of its own, with room for its fastest sample and 99th percentile.
    Those of several launches are shown wherever they fit.
    """
    best = {size: winners(run, size) for size in sizes}
    whole = len(paths) == len(run.paths)
    columns: list[Column[int]] = [Column("size", format_size)]
    for path in paths:
        columns += _path_columns(run, path, best, alone=alone, whole=whole)
    if whole:
        columns += path_columns.speedup_columns(run, lambda size: size, grouped=False)
        columns += [
            Column(f"fastest\n{domain} data", partial(path_columns.fastest, run, domain), gap=4, left=True)
            for domain in run.competing
        ]
    return table(columns, sizes)


def _path_columns(
    run: Run, path: str, best: dict[int, list[Entry]], *, alone: bool, whole: bool
) -> Iterator[Column[int]]:
    entries = {entry.bytes: entry for entry in run.of_path(path)}
    limit = run.ceiling(path)

    def column(head: str, cell: Callable[[Entry], Cell], **more: Any) -> Column[int]:
        return Column(head, lambda size: cell(entries[size]) if size in entries else None, **more)

    def style(entry: Entry) -> str:
        return "bold green" if entry in best[entry.bytes] else ""

    def time(size: int) -> Cell:
        if size in entries:
            entry = entries[size]
            return Text.assemble(
                (sign(run, entry) or " ", "yellow"), (figures.time_of(entry, entry.seconds), style(entry))
            )
        failure = run.failure(path, size)
        return Text(f" {figures.WHAT.get(failure.what, failure.what)}", "red") if failure else None

    def rate(entry: Entry) -> Cell:
        if not entry.amount:
            return None
        text = Text(format_rate(entry.rate), style(entry))
        return text if whole or not run.competing else text.append(FASTEST if style(entry) else " ", "green")

    def share(entry: Entry) -> Cell:
        if (part := shares.share(entry, limit)) is None:
            return None
        return Text(shares.percent(part), share_style(part, exceeded=shares.exceeds(entry, limit)))

    yield Column(f" {path}\n {run.time_label}", time, gap=3)
    # Several tables of several paths each are worth their length only with intervals.
    yield column(
        "95 %",
        lambda entry: Text(figures.spread(entry.precision), "yellow" if mark(entry) else "dim"),
        drop=(alone or whole) and not any(entry.uncertain for entry in entries.values()),
    )
    # One elapsed time over a fixed count of iterations has no extremes.
    several = run.launches > 1
    if (alone or several) and not all(entry.is_mean for entry in entries.values()):
        for name in ("min", "max" if several else "p99"):
            yield column(name, _seconds(name), style="dim", gap=3, drop=2)
    if all(entry.moves for entry in entries.values()):
        yield column("GB/s", rate, gap=3)
    if any(shares.share(entry, limit) is not None for entry in entries.values()):
        yield column("of\nlimit", share, gap=3)
    for more in figure_columns(run):
        if more.is_shown(entries.values()):
            yield column(more.head, more.cell, gap=3, drop=more.drop)


def _seconds(name: str) -> Callable[[Entry], Cell]:
    def cell(entry: Entry) -> Cell:
        time = getattr(entry.times, name)
        return None if time is None else figures.time_of(entry, time)

    return cell
