"""The table of many paths: a column per path, its time at small sizes and its bandwidth at large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rich.text import Text

from wirespeed.report.console.columns import Cell, Column, Row, Table, fold, table
from wirespeed.report.facts import figures, shares
from wirespeed.report.facts.cells import microseconds_cell, rate_cell
from wirespeed.report.facts.contrasts import Added, Contrast, Worth, contrasts, doubt_of
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


@dataclass(frozen=True)
class _SizeRow:
    size: int
    cell: Callable[[Entry], Text | None]
    """The figure in a path's column; None: a dash."""
    main: bool = False
    """Time or bandwidth: it also has speedups, or the word for a failure."""


def lay_out(width: int, run: Run, sizes: Sequence[int]) -> list[Table[_SizeRow]]:
    """As few tables as fit; speedups in the last one, or in one of their own.

    Shares of limits have rows only where all sizes have; each path's best share stands below the table.
    """
    sections = _sections(run, sizes)
    rows = [row for _, section in sections for row in section]
    size: Column[_SizeRow] = Column("size", lambda row: format_size(row.size))
    paths = sorted(run.paths, key=lambda path: _domain(run, path) != "CPU")

    def build(part: Sequence[str], _: int) -> Table[_SizeRow]:
        return Table([size, *(_column(run, path) for path in part)], sections)

    tables = fold(paths, build, width)
    speedups = [*speedup_columns(run, _size_with_speedup, grouped=True)]
    last = Table([*tables[-1].columns, *speedups, *_fastest(run)], sections).fit(width)
    if last.width <= width:
        return [*tables[:-1], last]
    unique = {row.size: row for row in rows if row.main}
    return [*tables, table([size, *speedups], list(unique.values())).fit(width)] if speedups else tables


def _size_with_speedup(row: _SizeRow) -> int | None:
    return row.size if row.main else None


def _sections(run: Run, sizes: Sequence[int]) -> list[tuple[str, list[_SizeRow]]]:
    few = len(run.sizes) <= FEW
    small = [size for size in sizes if few or size <= SPLIT]
    large = [size for size in sizes if size > (NO_RATE if few else SPLIT)]
    limits = (
        [limit for path in run.paths if (limit := run.ceiling(path))] if len(sizes) == len(run.sizes) else []
    )
    limited = [size for size in large if any(limit.applies(size) for limit in limits)]
    blocks = (
        (f"{run.time_label}, us", _rows(small, partial(_figure, run, False), main=True)),
        *_more(run, sizes),
        ("GB/s", _rows(large, partial(_figure, run, True), main=True)),
        ("% of limit", _rows(limited, partial(_share, run))),
    )
    return [(title, rows) for title, rows in blocks if rows]


def _rows(
    sizes: Sequence[int], cell: Callable[[Entry], Text | None], *, main: bool = False
) -> list[_SizeRow]:
    return [_SizeRow(size, cell, main) for size in sizes]


def _more(run: Run, sizes: Sequence[int]) -> Iterator[tuple[str, list[_SizeRow]]]:
    """Rows of the columns beyond time and bandwidth."""
    alike = grouped((entry.bytes, entry) for entry in run.entries.values())
    for column in figure_columns(run):
        if column.section:
            shown = [size for size in sizes if column.is_shown(alike.get(size, []))]
            yield column.section, _rows(shown, partial(_cell, column))


def _cell(column: FigureColumn, entry: Entry) -> Text | None:
    words = (column.brief or column.cell)(entry)
    if words is None:
        return None
    return Text.assemble(words, (column.mark(entry) or " ", "yellow") if column.mark else " ")


def _domain(run: Run, path: str) -> str:
    return next((entry.memory_domain for (name, _), entry in run.figures.items() if name == path), "")


def _column(run: Run, path: str) -> Column[_SizeRow]:
    """A column per path; where paths use both memory domains, the domain stands over the column."""
    several = len({_domain(run, name) for name in run.paths}) > 1

    def cell(row: _SizeRow) -> Text:
        entry = run.entries.get((path, row.size))
        if entry is None and row.main and (failure := run.failure(path, row.size)):
            return Text(f"{figures.SHORT.get(failure.what, failure.what)} ", "red")
        return (row.cell(entry) if entry else None) or Text("- ", "dim")

    group = f"{_domain(run, path)} data" if several else ""
    return Column(_broken(path, " "), cell, group=group)


def _share(run: Run, entry: Entry) -> Text | None:
    limit = run.ceiling(entry.path)
    part = shares.share(entry, limit)
    style = share_style(part or 0, exceeded=shares.exceeds(entry, limit))
    return None if part is None else Text(f"{100 * part:.0f} ", style)


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


def _fastest(run: Run) -> list[Column[_SizeRow]]:
    """The names of the fastest paths, for each memory domain in which several paths compete."""

    def cell(domain: str, row: _SizeRow) -> Cell:
        return fastest(run, domain, row.size) if row.main else ""

    return [
        Column(f"{domain} data", partial(cell, domain), group="fastest", left=True, drop=2)
        for domain in run.competing
    ]


def speedup_columns(
    run: Run, size_of: Callable[[Row], int | None], *, grouped: bool
) -> Iterator[Column[Row]]:
    """Columns of what tells two paths apart, and how far its interval goes.

    How many times longer a path takes without a feature; how much time MPI adds to UCX's own.
    """

    def told(contrast: Contrast, row: Row) -> Worth | Added | None:
        return None if (size := size_of(row)) is None else contrast.of(run, size)

    def figure(contrast: Contrast, row: Row) -> Cell:
        if (found := told(contrast, row)) is None:
            return "" if size_of(row) is None else Text("-  ", "dim")
        mark, end = doubt_of(found)
        words = (f"{found.words}{contrast.unit}{end or ' '}", "" if found.plain else "dim")
        return Text.assemble((mark, "yellow"), words)

    def interval(contrast: Contrast, row: Row) -> Cell:
        return found.spread if (found := told(contrast, row)) else ""

    for contrast in contrasts(run):
        what, path = contrast.what, contrast.path
        head = _broken(path, "  ") if grouped else f"{what}  \n{path}  "
        group = what if grouped else ""
        yield Column(head, partial(figure, contrast), gap=1 if grouped else 4, group=group)
        yield Column("", partial(interval, contrast), style="dim", gap=2, group=group, drop=1)


def _broken(name: str, end: str) -> str:
    """A long name on two lines, broken at a hyphen where that makes it narrowest; `end` follows each line."""
    places = [number + 1 for number, letter in enumerate(name) if letter == "-"]
    if len(name) <= _LONG_NAME or not places:
        return name + end
    best = min(places, key=lambda place: max(place, len(name) - place))
    return f"{name[:best]}{end}\n{name[best:]}{end}"
