"""View of a run in a report: its tables on a terminal, its bars and tiles on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts.cells import rate_cell
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.shares import percent, share
from wirespeed.report.sources import ReportRun
from wirespeed.report.views.size_table import TableLayout, lay_out
from wirespeed.results.coerce import text
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import format_rate, format_size

LIMIT = "The dashed line is the limit; its equation is below."


@dataclass(frozen=True)
class Bar:
    """One figure, in the unit of its group."""

    label: str
    path: str
    value: float
    note: str
    limit: float | None = None
    paler: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars that share one scale."""

    title: str
    bars: list[Bar]
    explained: str = ""
    """Meaning of the dashed line."""

    @property
    def most(self) -> float:
        """The scale's end."""
        return max([bar.value for bar in self.bars] + [bar.limit or 0 for bar in self.bars]) or 1.0


def largest(run: Run, paths: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    """(path and size, entry): each path's largest size."""
    for entry in (last(run, path) for path in paths):
        if entry.amount:
            yield text(f"{entry.path}, {format_size(entry.bytes)}"), entry


def last(run: Run, path: str) -> Entry:
    """At the path's largest size, true or not."""
    return max((run.figures[key] for key in run.figures if key[0] == path), key=lambda entry: entry.bytes)


def impossible(label: str, entry: Entry) -> Bar:
    return Bar(label, text(entry.path), 0.0, IMPOSSIBLE)


def doubt(entry: Entry | TeamFigure) -> str:
    return f" ({UNCERTAIN})" if entry.uncertain else ""


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

    def tiles(self, run: Run, entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
        """(name, value, note) of the page's first figures; none: those of curves suit."""
        return []

    def bars(self, sets: Sequence[ReportRun]) -> list[Bars]:
        """Figures of the runs of this view that are compared side by side."""
        groups = [measured for measured in sets if measured.pattern == "groups"]
        found = [bar for group in groups for bar in _groups(group, len(groups) > 1)]
        return [Bars("Bandwidth out of the slowest group, largest message", found, LIMIT)]


def _groups(measured: ReportRun, several: bool) -> Iterator[Bar]:
    for label, entry in largest(measured.run, measured.run.paths):
        label = f"{measured.label}: {label}" if several else label
        if entry.impossible:
            yield impossible(label, entry)
            continue
        limit = measured.run.ceiling(entry.path)
        part = share(entry, limit)
        note = f"{''.join(rate_cell(measured.run, entry))} GB/s{doubt(entry)}"
        note += f", {percent(part)} of {format_rate(limit.rate)}" if limit and part is not None else ""
        yield Bar(label, text(entry.path), entry.rate, note, limit.rate if limit else None)
