"""The table of a run: one row a size, a group of columns a path, folded where the terminal is narrow.

Of many paths: wirespeed/report/terminal/path_columns.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from wirespeed.limits.ceilings import Ceiling
from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import AS_FAST, FASTEST, mark, share_style
from wirespeed.report.facts.speedup import pairs
from wirespeed.report.terminal import path_columns
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_seconds, format_size

GAP = "   "
MOST_WIDE = 4
"""More paths get a column each instead of three."""
_NONE = Text("-", style="dim")


@dataclass(frozen=True)
class Layout:
    """How much fits: several paths side by side, or fewer in each of several tables."""

    tables: list[RenderableType]
    spread: bool = False
    """With a column of intervals."""
    stars: bool = False
    extremes: bool = False
    compact: bool = False


def lay_out(console: Console, run: Run) -> Layout:
    """As few tables as fit the console's width; more columns where there is room for them."""
    paths = run.paths
    if len(paths) > MOST_WIDE:
        return Layout([*path_columns.lay_out(console, run)], stars=True, compact=True)
    if len(paths) > 1:
        for spread in (True, False):
            table = build(run, paths, spread=spread, fastest=True)
            if fits(console, table):
                return Layout([table], spread=spread)
        if pairs(run):
            # Ratios belong beside what they compare.
            return Layout([*path_columns.lay_out(console, run)], stars=True, compact=True)
        for blocks in range(2, len(paths)):
            each = -(-len(paths) // blocks)
            parts = [paths[start : start + each] for start in range(0, len(paths), each)]
            tables = [build(run, part, spread=True) for part in parts]
            if all(fits(console, table) for table in tables):
                return Layout([*tables], spread=True, stars=True)
    # One elapsed time over fixed rounds has no extremes.
    fixed = all(entry.stopped == "fixed" for entry in run.entries.values())
    for extremes in (False,) if fixed else (True, False):
        tables = [build(run, [path], spread=True, extremes=extremes) for path in paths]
        if all(fits(console, table) for table in tables):
            return Layout([*tables], spread=True, stars=True, extremes=extremes)
    return Layout([build(run, [path], spread=False) for path in paths], stars=True)


def fits(console: Console, table: Table) -> bool:
    """True when no row of this table of texts would wrap or be cut. (Rich can tell too, but takes long.)"""
    lines = (
        [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
        for column in table.columns
    )
    _, right, _, left = table.padding
    gap = right + left + (table.box is not None)
    return sum(max(map(len, column)) for column in lines) + gap * (len(table.columns) - 1) <= console.width


def new_table() -> Table:
    """The house style: one line under the head, no others."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style="bold")


def add_columns(table: Table, heads: Sequence[str]) -> None:
    """Columns of figures; blanks at the start of a head set it apart from the column before."""
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)


def build(
    run: Run, paths: Sequence[str], *, spread: bool, extremes: bool = False, fastest: bool = False
) -> Table:
    """A table of these paths; at the right what switching something off costs, and the name of the fastest.

    The fastest is one for data on CPUs and one for data on GPUs.
    """
    homes = run.contested
    switched = pairs(run) if fastest else []
    table = new_table()
    add_columns(table, ["\nsize"])
    for path in paths:
        add_columns(table, [f"{GAP}{path}\n{GAP}{run.way}", *(["\n95 %"] if spread else [])])
        add_columns(table, [f"\n{head}" for head in ("  min", "  p99") if extremes] + ["\n  GB/s"])
        add_columns(table, ["  of\n  limit"] if run.ceiling(path) else [])
        add_columns(
            table, [f"  {name}\n  {'' if unit == 's' else unit}" for name, unit in further(run, path)]
        )
    for pair in switched:
        add_columns(table, [f"{GAP}{pair.what}\n{GAP}{pair.path}"])
    for home in homes if fastest else ():
        table.add_column(f"{GAP}fastest\n{GAP}{home} data", no_wrap=True)
    for size in run.sizes:
        best = {home: run.fastest(size, home) for home in homes}
        winners = [entry for entries in best.values() for entry in entries]
        cells: list[Text] = [Text(format_size(size))]
        for path in paths:
            star = bool(homes) and not fastest
            cells += _cells(run, path, size, winners, spread=spread, extremes=extremes, star=star)
        for pair in switched:
            worth = pair.worth(run, size)
            cells.append(
                _NONE if worth is None else Text(GAP).append_text(path_columns.price(worth, spread=spread))
            )
        for entries in best.values() if fastest else ():
            name = entries[0].path if entries else ""
            cells.append(Text(f"{GAP}{name} {AS_FAST}" if len(entries) > 1 else f"{GAP}{name}"))
        table.add_row(*cells)
    return table


def _cells(
    run: Run, path: str, size: int, best: Sequence[Entry], *, spread: bool, extremes: bool, star: bool
) -> list[Text]:
    width = 2 + spread + 2 * extremes
    entry = run.entries.get((path, size))
    others, limit = further(run, path), run.ceiling(path)
    width += len(others) + bool(limit)
    if entry is None:
        failure = run.failure(path, size)
        if failure is None:
            return [_NONE] * width
        word = Text.assemble(GAP, (figures.WHAT.get(failure.what, failure.what), "red"))
        return [word, *[_NONE] * (width - 1)]
    wins = entry in best
    style = "bold green" if wins else ""
    sign = mark(entry)
    cells = [Text.assemble(GAP[:-1], (sign or " ", "yellow"), (format_seconds(entry.seconds), style))]
    if spread:
        cells.append(Text(figures.spread(entry.precision), style="yellow" if sign else "dim"))
    if extremes:
        cells += [_time(entry.minimum), _time(entry.p99)]
    figure = _NONE
    if entry.amount:
        figure = Text.assemble("  ", (format_rate(entry.rate), style))
        if star:
            figure.append(FASTEST if wins else " ", style="green")
    share = [_share(entry, limit)] if limit else []
    return [*cells, figure, *share, *_others(entry, others)]


def _share(entry: Entry, limit: Ceiling) -> Text:
    """Percent of what the wire can carry; more than all of it cannot be."""
    if not entry.amount:
        return _NONE
    share = entry.rate / limit.rate
    return Text(f"  {100 * share:.0f} %", style=share_style(share))


def further(run: Run, path: str) -> list[tuple[str, str]]:
    """(name, unit) of the figures that the path's entries have beside time and bandwidth."""
    entries = run.of_path(path)
    return list(dict.fromkeys((name, unit) for entry in entries for name, unit, _ in entry.derived))


def _others(entry: Entry, names: Sequence[tuple[str, str]]) -> list[Text]:
    found = {(name, unit): value for name, unit, value in entry.derived}
    return [Text(f"  {figures.quantity(found[one], one[1])}") if found.get(one) else _NONE for one in names]


def _time(seconds: float | None) -> Text:
    return _NONE if seconds is None else Text(f"  {format_seconds(seconds)}", style="dim")
