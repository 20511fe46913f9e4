"""The one model behind every table: columns that take their cells from rows, laid out to fit a width.

Rich's tables have neither heads over several columns nor titled sections, and it takes them long to tell
whether they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Generic, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from wirespeed.report.console.console import ascii_cell

Row = TypeVar("Row")
Cell = Text | str | None
"""None: this row has no value in this column, which shows as a dash."""
GROUP_GAP = 3


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table: its head, and how a row gives its cell."""

    head: str
    """One line or more."""
    cell: Callable[[Row], Cell]
    style: str = ""
    """Style of the cells that are plain strings."""
    gap: int = 1
    """Blanks before the column; a group begins with at least GROUP_GAP."""
    group: str = ""
    """Head over neighbouring columns of the same group."""
    left: bool = False
    """Texts are aligned left, figures right."""
    drop: int = 0
    """Order in which columns leave a table that is too wide, the highest number first; those with 0 stay."""

    def text(self, row: Row) -> Text:
        """The cell, ready to be printed."""
        cell = self.cell(row)
        return (
            cell if isinstance(cell, Text) else Text("-", "dim") if cell is None else Text(cell, self.style)
        )


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Columns and rows. `sections` are (title, rows): each begins with a line that carries its title."""

    columns: Sequence[Column[Row]]
    sections: Sequence[tuple[str, Sequence[Row]]]
    ruled: bool = True
    """Lines stand above the sections."""
    ascii_only: bool = False
    known: dict[int, list[Text]] = field(default_factory=dict, compare=False, repr=False)
    """Cells of columns, by their identity: a table that is made narrower has them already."""

    @property
    def rows(self) -> list[Row]:
        """Rows of all sections."""
        return [row for _, rows in self.sections for row in rows]

    @cached_property
    def _cells(self) -> list[list[Text]]:
        """Column by column."""
        rows = self.rows
        for column in self.columns:
            if id(column) not in self.known:
                self.known[id(column)] = [column.text(row) for row in rows]
        cells = [self.known[id(column)] for column in self.columns]
        return [[ascii_cell(cell) for cell in column] for column in cells] if self.ascii_only else cells

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """(blanks before it, width) of each column."""
        widths = [
            max(map(cell_len, [*column.head.split("\n"), *(cell.plain for cell in cells)]))
            for column, cells in zip(self.columns, self._cells, strict=True)
        ]
        gaps = [column.gap for column in self.columns]
        for group, numbers in self._groups():
            gaps[numbers[0]] = max(gaps[numbers[0]], GROUP_GAP if group else 0) if numbers[0] else 0
            taken = sum(widths[number] for number in numbers) + sum(gaps[number] for number in numbers[1:])
            widths[numbers[-1]] += max(0, cell_len(group) - taken)
        return list(zip(gaps, widths, strict=True))

    def _groups(self) -> list[tuple[str, list[int]]]:
        numbers = range(len(self.columns))
        return [
            (group, list(found))
            for group, found in groupby(numbers, lambda number: self.columns[number].group)
        ]

    @property
    def width(self) -> int:
        """Letters of the widest line."""
        return sum(gap + width for gap, width in self._places)

    @cached_property
    def height(self) -> int:
        """Lines that it takes."""
        return sum(1 for _ in self.lines())

    def fit(self, width: int) -> Table[Row]:
        """This table without as many columns as must go for this width, as far as columns may go."""
        most = max(column.drop for column in self.columns)
        if self.width <= width or not most:
            return self
        left = [column for column in self.columns if column.drop < most]
        return replace(self, columns=left).fit(width)

    def stack(self, width: int) -> Table[Row]:
        """As fit(); where that is still too wide, the first column's texts stand above their rows."""
        if (fitted := self.fit(width)).width <= width:
            return fitted
        first, *others = self.columns
        named = groupby(self.rows, lambda row: f"{first.head} {first.text(row).plain}".strip())
        return replace(self, columns=others, sections=[(name, [*rows]) for name, rows in named]).fit(width)

    def lines(self) -> Iterator[Text]:
        """Heads and rows, a line each, without blanks at the end."""
        rule = "-" if self.ascii_only else "─"
        if any(column.group for column in self.columns):
            line = Text()
            for group, numbers in self._groups():
                line.append(" " * self._places[numbers[0]][0])
                taken = sum(map(sum, (self._places[number] for number in numbers)))
                line.append(group.ljust(taken - self._places[numbers[0]][0]), "dim")
            yield _ended(line)
        depth = max(column.head.count("\n") for column in self.columns) + 1
        heads = [column.head.split("\n") for column in self.columns]
        for number in range(depth) if any(map(any, heads)) else ():
            above = [number - depth + len(head) for head in heads]
            yield self._line(
                [Text(head[at] if at >= 0 else "", "bold") for head, at in zip(heads, above, strict=True)]
            )
        rows = zip(*self._cells, strict=True)
        for title, section in self.sections:
            if self.ruled:
                text = Text(f"{title} " if title else "", "bold")
                yield text.append(rule * (self.width - len(text)), "dim")
            yield from (self._line(next(rows)) for _ in section)

    def _line(self, cells: Sequence[Text]) -> Text:
        line = Text()
        for column, (gap, width), cell in zip(self.columns, self._places, cells, strict=True):
            blanks = " " * (width - cell.cell_len)
            line.append(" " * gap + blanks * (not column.left)).append_text(cell).append(blanks * column.left)
        return _ended(line)

    def texts(self) -> Iterator[list[list[str]]]:
        """For pages: heads and rows of each section, whose title stands above its first column."""
        heads = [" ".join(filter(None, (column.group, _one_line(column.head)))) for column in self.columns]
        for title, rows in self.sections:
            cells = ([column.text(row).plain.strip() for column in self.columns] for row in rows)
            yield [[title or heads[0], *heads[1:]], *cells]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        shown = replace(self, ascii_only=True).fit(options.max_width) if options.ascii_only else self
        for line in shown.lines():
            line.no_wrap, line.overflow = True, "ignore"
            yield line


def _one_line(head: str) -> str:
    """'aware-nogdr', 'computation': of names that are broken at their hyphen, or hyphenated."""
    return " ".join(head.replace("-\n", "").split()).replace("- ", "-")


def _ended(line: Text) -> Text:
    line.rstrip()
    return line


def table(columns: Sequence[Column[Row]], rows: Sequence[Row], *, ruled: bool = True) -> Table[Row]:
    """A table whose rows are one section without a title."""
    return Table(columns, [("", rows)], ruled)


def filled(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """The first column, and those in which a row has something to say."""
    first, *others = columns
    return [first, *(column for column in others if any(column.cell(row) for row in rows))]


def fold(
    names: Sequence[str], build: Callable[[Sequence[str], int], Table[Row]], width: int
) -> list[Table[Row]]:
    """As few tables as fit this width, each of about as many names; at worst a table for each name.

    `build` gets the names of a table, and how many a table has at most.
    """
    tables: list[Table[Row]] = []
    for count in range(1, len(names) + 1):
        each = -(-len(names) // count)
        tables = [build(names[start : start + each], each).fit(width) for start in range(0, len(names), each)]
        if all(table.width <= width for table in tables):
            break
    return tables
