"""Columns of figures on a terminal, with heads over several columns and lines between parts of the table.

Rich's tables have neither, and take long to find out whether they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text


@dataclass(frozen=True)
class Column:
    """A column with its cells, one for each row. Every letter is one place wide."""

    head: tuple[str, ...]
    cells: Sequence[Text]
    group: str = ""
    """Stands over neighbouring columns of the same group."""
    left: bool = False
    """Texts; figures stand at the right."""

    @property
    def width(self) -> int:
        return max(map(len, [*self.head, *(cell.plain for cell in self.cells)]))


@dataclass(frozen=True)
class Part:
    """Rows under a line of their own."""

    title: str
    rows: Sequence[int]
    """Numbers of the columns' cells."""


GAP = 1
GROUP_GAP = 3


@dataclass(frozen=True)
class _Place:
    column: Column
    gap: int
    width: int


def width(columns: Sequence[Column]) -> int:
    """Letters of the widest line."""
    return sum(place.gap + place.width for place in _placed(columns))


def lines(columns: Sequence[Column], parts: Sequence[Part], rule: str = "─") -> Text:
    """The whole table."""
    places = _placed(columns)
    made = [_groups(places)] if any(column.group for column in columns) else []
    depth = max(len(column.head) for column in columns)
    for number in range(depth):
        heads = [("",) * (depth - len(column.head)) + column.head for column in columns]
        made.append(_line(places, [Text(head[number], "bold") for head in heads]))
    for part in parts:
        title = Text(f"{part.title} " if part.title else "", "bold")
        made.append(title.append(rule * (width(columns) - len(title)), "dim"))
        made += [_line(places, [column.cells[row] for column in columns]) for row in part.rows]
    for line in made:
        line.rstrip()
    return Text("\n").join(made)


def _placed(columns: Sequence[Column]) -> list[_Place]:
    places: list[_Place] = []
    for group, members in groupby(columns, key=lambda column: column.group):
        block = list(members)
        widths = [column.width for column in block]
        widths[-1] += max(0, len(group) - sum(widths) - GAP * (len(block) - 1))
        gaps = [GROUP_GAP if group else GAP] + [GAP] * (len(block) - 1)
        gaps[0] *= bool(places)
        places += [_Place(*place) for place in zip(block, gaps, widths, strict=True)]
    return places


def _groups(places: Sequence[_Place]) -> Text:
    line = Text()
    for group, members in groupby(places, key=lambda place: place.column.group):
        block = list(members)
        line.append(" " * block[0].gap)
        line.append(group.ljust(sum(p.gap + p.width for p in block) - block[0].gap), "dim")
    return line


def _line(places: Sequence[_Place], cells: Sequence[Text]) -> Text:
    line = Text()
    for place, cell in zip(places, cells, strict=True):
        line.append(" " * place.gap)
        blank = " " * (place.width - len(cell))
        line.append_text(cell.copy().append(blank) if place.column.left else Text(blank).append_text(cell))
    return line
