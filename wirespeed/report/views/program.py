"""A program's paths: one row each, with the time of a step and what it consists of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.console.columns import Cell, Column, Table, table
from wirespeed.report.facts import figures, programs
from wirespeed.report.facts.markers import mark, share_style, sign, winners
from wirespeed.report.facts.shares import percent
from wirespeed.report.sources import ReportRun
from wirespeed.report.views.base import Bar, Bars, View, doubt, impossible, last
from wirespeed.report.views.size_table import TableLayout
from wirespeed.results.coerce import text
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

    @property
    def uncertain(self) -> bool:
        return self.entry is not None and self.entry.uncertain


def _table(run: Run) -> Table[_Row]:
    """A row for each path with a figure."""
    rows = [_row(run, path) for path in run.paths]
    columns: list[Column[_Row]] = [
        Column("path", lambda row: row.path, left=True),
        Column(" a step", lambda row: row.time, gap=3),
        Column("95 %", _of(_spread), drop=0 if any(row.uncertain for row in rows) else 3),
        Column("sites/s", _of(_sites), gap=3),
        Column("GB/s\na rank", _of(lambda entry, _: format_rate(entry.rate)), gap=3, drop=2),
        Column("of\ncopy", _of(lambda _, parts: _share(parts.of_copy, parts.mark)), gap=3),
        Column("compu-\ntation", _of(lambda _, parts: _time(parts.compute)), gap=3),
        Column("visible", _of(lambda _, parts: _visible(parts, 0)), gap=3),
        Column("", lambda row: _visible(row.parts, 1) or "", style="dim", drop=1),
        Column("effi-\nciency", _of(lambda _, parts: _share(parts.efficiency, parts.efficiency_mark)), gap=3),
    ]
    kept = [column for column in columns if any(column.cell(row) not in (None, "") for row in rows)]
    return table(kept, rows)


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


def _spread(entry: Entry, _: programs.Parts) -> Cell:
    return Text(figures.spread(entry.precision), "yellow" if mark(entry) else "dim")


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
    """A row for each path, with what its step consists of; bars instead of curves."""

    curves = False
    caption = _LEGEND

    def layout(self, width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
        return TableLayout([_table(run).fit(width)], spread=True)

    def tiles(self, run: Run, entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
        best = min(entries, key=lambda entry: entry.seconds)
        known = programs.parts(run, best)
        word = "not known" if known.efficiency is None else known.efficiency_mark + percent(known.efficiency)
        return [
            ("Shortest step", format_seconds(best.seconds), best.path),
            ("Efficiency", word, f"{best.path}, {run.head.plan.ranks} ranks against one"),
        ]

    def bars(self, sets: Sequence[ReportRun]) -> list[Bars]:
        measured = [shown for shown in sets if shown.run.figures]
        found = [_steps(shown, measured) for shown in measured]
        efficiencies = [bar for shown in measured for bar in _efficiencies(shown, measured)]
        return [*found, Bars("Efficiency against one rank", efficiencies, "The dashed line is one rank's.")]


def _asked(measured: ReportRun, others: Sequence[ReportRun]) -> str:
    """'2 ranks, overlap no': what a program was asked for, where not all were asked for the same."""
    ranks = measured.run.head.plan.ranks
    common = set.intersection(*(set(each.run.pattern_words) for each in others))
    own = (word for word in measured.run.pattern_words if word not in common)
    return ", ".join((f"{ranks} rank{'s' if ranks > 1 else ''}", *own))


def _steps(measured: ReportRun, others: Sequence[ReportRun]) -> Bars:
    """Each path's step in seconds, and the computation alone below it."""
    out = []
    for path in measured.run.paths:
        entry = last(measured.run, path)
        if entry.impossible:
            out.append(impossible(text(path), entry))
            continue
        parts, word = programs.parts(measured.run, entry), text(entry.path)
        copied = parts.of_copy * entry.seconds if parts.of_copy else None
        note = f"{parts.mark}{format_seconds(entry.seconds)}{doubt(entry)}{_communication(parts)}"
        out.append(Bar(word, word, entry.seconds, note, copied))
        if parts.compute and measured.run.head.plan.ranks > 1:
            note = f"{format_seconds(parts.compute)} computation alone"
            out.append(Bar("", word, parts.compute, note, copied, paler=True))
    title = f"Time of a step, {_asked(measured, others)}"
    # The labels of several files name them.
    if len(others) > 1 and not measured.label.startswith(f"{measured.run.head.plan.ranks} rank"):
        title += f": {measured.label}"
    return Bars(title, _by_step(out), "The dashed line is the time of a copy of the same array.")


def _communication(parts: programs.Parts) -> str:
    """', of which 12.1 us ±0.60 us is communication'."""
    if parts.visible is None or parts.visible_words is None:
        return ""
    words = " ".join(filter(None, parts.visible_words))
    if words == CANNOT_TELL:
        return ", and how much of it is communication cannot be told"
    if parts.visible.certain and parts.visible.value > 0:
        return f", of which {words} is communication"
    return ", its communication is hidden"


def _by_step(found: list[Bar]) -> list[Bar]:
    """The shortest step first, impossible ones last; what lies below a bar stays there."""
    pairs: list[list[Bar]] = []
    for bar in found:
        if bar.label:
            pairs.append([bar])
        else:
            pairs[-1].append(bar)
    return [bar for pair in sorted(pairs, key=lambda pair: pair[0].value or math.inf) for bar in pair]


def _efficiencies(measured: ReportRun, others: Sequence[ReportRun]) -> Iterator[Bar]:
    for path in measured.run.paths if measured.run.head.plan.ranks > 1 else ():
        for entry in measured.run.of_path(path)[-1:]:
            parts, word = programs.parts(measured.run, entry), text(entry.path)
            if (part := parts.efficiency) is not None:
                note = f"{parts.efficiency_mark}{percent(part)}"
                yield Bar(f"{word}, {_asked(measured, others)}", word, part, note, 1.0)
