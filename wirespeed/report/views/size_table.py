"""The view of a run in a report: a table with one row per size, folded where the terminal is narrow.

Of few paths each has a group of columns; of many one column, its time at small sizes, then its bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os.path import commonpath
from typing import Any, NamedTuple

from rich.text import Text

from wirespeed.grouping import grouped
from wirespeed.report.console.columns import Cell, Column, Row, Table, fold, table
from wirespeed.report.facts import figures, shares
from wirespeed.report.facts.cells import microseconds_cell, rate_cell
from wirespeed.report.facts.contrasts import Contrast, Worth, contrasts
from wirespeed.report.facts.figure_columns import FigureColumn, figure_columns
from wirespeed.report.facts.legend import RANGE, Layout
from wirespeed.report.facts.markers import AS_FAST, FASTEST, TIMES, mark, share_style, sign, winners
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.units import format_rate, format_size

MAX_WIDE = 4
"""More paths get a column each instead of three."""
MAX_FOLDED = 2
"""Tables of one size, beyond which each path has a row."""


@dataclass(frozen=True)
class TableLayout(Layout):
    """The tables of a run; two are equal where a legend of one explains the other."""

    tables: Sequence[Table[Any]] = field(compare=False)
    by_path: bool = False
    """Each path has a row, as there is one size."""
    by_size: bool = field(default=False, compare=False)
    """further() has what there was no room for."""


def lay_out(width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
    """As few tables of these sizes as fit the width; more columns where there is room for them."""
    if len(run.paths) <= MAX_WIDE:
        tables = fold(run.paths, lambda paths, each: build(run, paths, sizes, alone=each == 1), width)
        # Speedups belong next to what they compare.
        if len(tables) == 1 or not contrasts(run):
            heads = {column.head for table in tables for column in table.columns}
            return TableLayout(
                tables,
                spread="95 %" in heads,
                extremes="min" in heads,
                stars=len(tables) > 1,
                by_size=True,
            )
    many = _lay_out_many(width, run, sizes)
    if len(run.sizes) == 1 and len(many) > MAX_FOLDED:
        rows = [_rows_by_path(run).fit(width)]
        return TableLayout(rows, compact=True, wide=(RANGE,), by_path=True, by_size=True)
    return TableLayout(many, compact=True, wide=(RANGE,), by_size=True)


def _rows_by_path(run: Run) -> Table[str]:
    """A row for each path of a run that has one size: pairs of GPUs, for example."""
    (size,) = run.sizes
    shared = commonpath(list(run.paths))

    def cell(show: Callable[[Entry], Text | None]) -> Callable[[str], Text]:
        return lambda path: _cell(run, path, _SizeRow(size, show, main=True))

    rated = all(entry.moves for entry in run.entries.values())
    columns: list[Column[str]] = [
        Column(
            f"{shared}, {format_size(size)}".lstrip(", "),
            lambda path: path.removeprefix(shared).lstrip("/") or path,
            left=True,
        ),
        Column(f"{run.time_label}, us ", cell(partial(_figure, run, False)), gap=2, drop=rated),
    ]
    if rated:
        columns.append(Column("GB/s ", cell(partial(_figure, run, True)), gap=2))
    if any(shares.share(entry, run.ceiling(entry.path)) is not None for entry in run.entries.values()):
        columns.append(Column("% of limit ", cell(partial(limit_cell, run, unit="")), gap=2))
    return table(columns, list(run.paths))


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
        columns += speedup_columns(run, lambda size: size, grouped=False)
        columns += [
            Column(f"fastest\n{domain} data", partial(fastest, run, domain), gap=4, left=True)
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

    yield Column(f" {path}\n {run.time_label}", time, gap=3)
    # Several tables of several paths each are worth their length only with intervals.
    yield column(
        "95 %",
        spread_cell,
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
        yield column("of\nlimit", partial(limit_cell, run), gap=3)
    for more in figure_columns(run):
        if more.is_shown(entries.values()):
            yield column(more.head, more.cell, gap=3, drop=more.drop)


def _seconds(name: str) -> Callable[[Entry], Cell]:
    def cell(entry: Entry) -> Cell:
        time = getattr(entry.times, name)
        return None if time is None else figures.time_of(entry, time)

    return cell


SPLIT = 64 << 10
"""Bytes up to which the time is shown, and beyond which the bandwidth is."""
FEW = 6
"""Up to this many sizes are shown by time and, above NO_RATE bytes, by bandwidth."""
NO_RATE = 1 << 10
_LONG_NAME = 5


class _SizeRow(NamedTuple):
    size: int
    cell: Callable[[Entry], Text | None]
    """The figure in a path's column; None: a dash."""
    main: bool
    """Time or bandwidth: it also has speedups, or the word for a failure."""


def _lay_out_many(width: int, run: Run, sizes: Sequence[int]) -> list[Table[_SizeRow]]:
    """As few tables as fit; speedups in the last one, or in one of their own.

    Shares of limits have rows only where all sizes have; each path's best share stands below the table.
    """
    sections = [
        (title, [_SizeRow(size, cell, main) for size in of])
        for title, of, cell, main in _sections(run, sizes)
        if of
    ]
    tables = fold(_by_domain(run), lambda part, _: Table([_SIZE, *_columns(run, part)], sections), width)
    speedups: list[Column[_SizeRow]] = [
        *speedup_columns(run, lambda row: row.size if row.main else None, grouped=True)
    ]
    fastest_ones: list[Column[_SizeRow]] = [
        Column(f"{domain} data", partial(_fastest, run, domain), group="fastest", left=True, drop=2)
        for domain in run.competing
    ]
    last = replace(tables[-1], columns=[*tables[-1].columns, *speedups, *fastest_ones]).fit(width)
    if last.width <= width:
        return [*tables[:-1], last]
    unique = {row.size: row for _, rows in sections for row in rows if row.main}
    return [*tables, table([_SIZE, *speedups], list(unique.values())).fit(width)] if speedups else tables


def further(run: Run, layout: TableLayout, sizes: Sequence[int]) -> Iterator[Table[_SizeRow]]:
    """Figures that this layout by size has not, though some path has them: 'algbw GB/s', 'many launches'."""
    alike = grouped((entry.bytes, entry) for entry in run.entries.values())
    heads = {column.head for table in layout.tables for column in table.columns}
    sections = []
    for column in figure_columns(run) if layout.by_size else ():
        if column.head not in heads and not (layout.compact and column.section):
            shown = [size for size in sizes if column.is_shown(alike.get(size, []))]
            sections.append(
                (column.title, [_SizeRow(size, partial(_further, column), False) for size in shown])
            )
    if sections:
        yield Table([_SIZE, *_columns(run, _by_domain(run))], sections)


_SIZE: Column[_SizeRow] = Column("size", lambda row: format_size(row.size))


def _by_domain(run: Run) -> list[str]:
    """All paths, those for CPU data first."""
    return sorted(run.paths, key=lambda path: _domain(run, path) != "CPU")


def _columns(run: Run, paths: Sequence[str]) -> list[Column[_SizeRow]]:
    """One a path, below the kind of its memory where the run has several."""
    several = len({_domain(run, path) for path in run.paths}) > 1
    groups = [f"{_domain(run, path)} data" if several else "" for path in paths]
    return [
        Column(_broken(path, " "), partial(_cell, run, path), group=group)
        for path, group in zip(paths, groups, strict=True)
    ]


_Section = tuple[str, Sequence[int], Callable[[Entry], Text | None], bool]
"""Title, sizes, and cell and kind of their rows."""


def _sections(run: Run, sizes: Sequence[int]) -> Iterator[_Section]:
    few = len(run.sizes) <= FEW
    large = [size for size in sizes if size > (NO_RATE if few else SPLIT)]
    small = [size for size in sizes if few or size <= SPLIT]
    yield f"{run.time_label}, us", small, partial(_figure, run, False), True
    alike = grouped((entry.bytes, entry) for entry in run.entries.values())
    for column in figure_columns(run):
        if column.section:
            shown = [size for size in sizes if column.is_shown(alike.get(size, []))]
            yield column.section, shown, partial(_further, column), False
    yield "GB/s", large, partial(_figure, run, True), True
    if len(sizes) == len(run.sizes):
        limits = [*filter(None, map(run.ceiling, run.paths))]
        limited = [size for size in large if any(limit.applies(size) for limit in limits)]
        yield "% of limit", limited, partial(limit_cell, run, unit=""), False


def _domain(run: Run, path: str) -> str:
    return next((entry.memory_domain for (name, _), entry in run.figures.items() if name == path), "")


def _cell(run: Run, path: str, row: _SizeRow) -> Text:
    entry = run.entries.get((path, row.size))
    if entry is None and row.main and (failure := run.failure(path, row.size)):
        return Text(f"{figures.SHORT.get(failure.what, failure.what)} ", "red")
    return (row.cell(entry) if entry else None) or Text("- ", "dim")


def _further(column: FigureColumn, entry: Entry) -> Text | None:
    if (words := (column.brief or column.cell)(entry)) is None:
        return None
    return Text.assemble(words, (column.mark(entry) or " ", "yellow") if column.mark else " ")


def spread_cell(entry: Entry) -> Text:
    """Half width of its interval."""
    return Text(figures.spread(entry.precision), "yellow" if mark(entry) else "dim")


def limit_cell(run: Run, entry: Entry, unit: str = "%") -> Text | None:
    """Its share of the limit; None where there is no limit, or it does not apply."""
    limit = run.ceiling(entry.path)
    if (part := shares.share(entry, limit)) is None:
        return None
    style = share_style(part, exceeded=shares.exceeds(entry, limit))
    return Text(f"{100 * part:.0f} {unit}", style)


@remembered
def _figure(run: Run, is_rate: bool, entry: Entry) -> Text:
    """The bandwidth, else the time."""
    mark, figure = (rate_cell if is_rate else microseconds_cell)(run, entry)
    return Text.assemble(
        (mark or " ", "yellow"),
        (figure, "bold green" if entry in winners(run, entry.bytes) else ""),
        (f" {figures.UNCERTAIN}" if entry.uncertain else "", "yellow"),
        " ",
    )


def fastest(run: Run, domain: str, size: int) -> str:
    """The fastest path's name, with a sign where another one is as fast within the intervals."""
    best = run.fastest(size, domain)
    return f"{best[0].path} {AS_FAST}" if len(best) > 1 else best[0].path if best else ""


def _fastest(run: Run, domain: str, row: _SizeRow) -> str:
    return fastest(run, domain, row.size) if row.main else ""


def worth_cell(found: Worth, unit: str = TIMES) -> Text:
    """Its figure between its marks."""
    mark, end = found.doubt
    return Text.assemble((mark, "yellow"), (f"{found.words}{unit}{end or ' '}", "dim" if end else ""))


def speedup_columns(
    run: Run, size_of: Callable[[Row], int | None], *, grouped: bool
) -> Iterator[Column[Row]]:
    """Columns of what tells two paths apart, and how far its interval goes.

    How many times longer a path takes without a feature; how much time MPI adds to UCX's own.
    """

    def figure(contrast: Contrast, row: Row) -> Cell:
        if (size := size_of(row)) is None:
            return ""
        if (found := contrast.of(run, size)) is None:
            return Text("-  ", "dim")
        return worth_cell(found, contrast.unit)

    def interval(contrast: Contrast, row: Row) -> Cell:
        found = None if (size := size_of(row)) is None else contrast.of(run, size)
        return found.spread if found else ""

    for each in contrasts(run):
        head = _broken(each.path, "  ") if grouped else f"{each.what}  \n{each.path}  "
        group = each.what if grouped else ""
        yield Column(head, partial(figure, each), gap=1 if grouped else 4, group=group)
        yield Column("", partial(interval, each), style="dim", gap=2, group=group, drop=1)


def _broken(name: str, end: str) -> str:
    """A long name on two lines, broken at a hyphen where that makes it narrowest; `end` follows each line."""
    places = [number + 1 for number, letter in enumerate(name) if letter == "-"]
    if len(name) <= _LONG_NAME or not places:
        return name + end
    best = min(places, key=lambda place: max(place, len(name) - place))
    return f"{name[:best]}{end}\n{name[best:]}{end}"


class View:
    """Rows by size on a terminal, curves on the page; other views override what they show otherwise."""

    curves = True
    """Are figures drawn against the message size?"""
    caption = ""
    """Words below what is said of the run, on a terminal."""
    legend = ""
    """Further words on the columns, for those who ask."""

    def layout(self, width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
        """Tables of these sizes on a terminal that is so wide."""
        return lay_out(width, run, sizes)

    def tables(self, width: int, run: Run) -> Sequence[Table[Any]]:
        """Tables of its own, which the page has, too; none where rows by size tell all."""
        return ()

    def tiles(self, run: Run, entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
        """(name, value, note) of the page's first figures; none: those of curves suit."""
        return []
