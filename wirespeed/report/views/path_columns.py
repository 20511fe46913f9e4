"""The table of many paths: a column per path, its time at small sizes and its bandwidth at large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from rich.text import Text

from wirespeed.report.console.columns import Cell, Column, Row, Table, fold, table
from wirespeed.report.facts import figures, shares
from wirespeed.report.facts.cells import microseconds_cell, rate_cell
from wirespeed.report.facts.contrasts import Contrast, contrasts
from wirespeed.report.facts.figure_columns import FigureColumn, figure_columns
from wirespeed.report.facts.markers import AS_FAST, share_style, winners
from wirespeed.report.grouping import grouped
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.units import format_size

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


def lay_out(width: int, run: Run, sizes: Sequence[int]) -> list[Table[_SizeRow]]:
    """As few tables as fit; speedups in the last one, or in one of their own.

    Shares of limits have rows only where all sizes have; each path's best share stands below the table.
    """
    sections = [
        (title, [_SizeRow(size, cell, main) for size in of])
        for title, of, cell, main in _sections(run, sizes)
        if of
    ]
    size: Column[_SizeRow] = Column("size", lambda row: format_size(row.size))
    domains = {path: _domain(run, path) for path in run.paths}
    paths = sorted(run.paths, key=lambda path: domains[path] != "CPU")

    def build(part: Sequence[str], _: int) -> Table[_SizeRow]:
        groups = [f"{domains[path]} data" if len({*domains.values()}) > 1 else "" for path in part]
        columns = [
            Column(_broken(path, " "), partial(_cell, run, path), group=group)
            for path, group in zip(part, groups, strict=True)
        ]
        return Table([size, *columns], sections)

    tables = fold(paths, build, width)
    speedups: list[Column[_SizeRow]] = [
        *speedup_columns(run, lambda row: row.size if row.main else None, grouped=True)
    ]
    fastest_ones: list[Column[_SizeRow]] = [
        Column(f"{domain} data", partial(_fastest, run, domain), group="fastest", left=True, drop=2)
        for domain in run.competing
    ]
    last = Table([*tables[-1].columns, *speedups, *fastest_ones], sections).fit(width)
    if last.width <= width:
        return [*tables[:-1], last]
    unique = {row.size: row for _, rows in sections for row in rows if row.main}
    return [*tables, table([size, *speedups], list(unique.values())).fit(width)] if speedups else tables


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
        yield "% of limit", limited, partial(_share, run), False


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


def _share(run: Run, entry: Entry) -> Text | None:
    limit = run.ceiling(entry.path)
    if (part := shares.share(entry, limit)) is None:
        return None
    return Text(f"{100 * part:.0f} ", share_style(part, exceeded=shares.exceeds(entry, limit)))


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
        mark, end = found.doubt
        words = f"{found.words}{contrast.unit}{end or ' '}"
        return Text.assemble((mark, "yellow"), (words, "dim" if end else ""))

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
