"""Copies inside ranks: each rank alone, and all at once; one row per kind of copy and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from wirespeed.limits import Ceiling
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.facts.cells import rate_cell
from wirespeed.report.facts.copies import MUCH_KEPT, kept, slowest_rank
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.markers import FAR_OFF, doubts, share_style, sign, sign_alone
from wirespeed.report.facts.shares import exceeds, percent, share
from wirespeed.report.sources import ReportRun
from wirespeed.report.views import copies_by_rank
from wirespeed.report.views.base import Bar, Bars, View, doubt, impossible, largest
from wirespeed.report.views.size_table import TableLayout
from wirespeed.results.by_rank import ALONE, TOGETHER
from wirespeed.results.coerce import text
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import format_rate, format_size

_LEGEND = (
    "GB/s of one rank, the slowest one, alone and while all copy; all at once: ranks x the latter; share "
    "kept: what is left of a rank's rate when all copy; of limit: the slowest rank with all"
)


@dataclass(frozen=True)
class _CopyRow:
    """The slowest rank's figures; None: unknown, or impossible."""

    entry: Entry
    first: bool
    """The first of its path."""
    limit: Ceiling | None
    sign: str
    """Mark of the figure with all."""
    alone: TeamFigure | None
    with_all: TeamFigure | None

    def rate(self, team: TeamFigure) -> float:
        """Bytes per second."""
        return self.entry.amount / team.seconds


def _table(run: Run) -> Table[_CopyRow]:
    """GB/s of the slowest rank alone, of the slowest one while all copy, and of all together."""
    rows = []
    for path in run.paths:
        limit = run.ceiling(path)
        entries = [run.figures[key] for key in run.figures if key[0] == path]
        for number, entry in enumerate(entries):
            ranks = [slowest_rank(entry, how) for how in (ALONE, TOGETHER)]
            rows.append(_CopyRow(entry, not number, limit, sign(run, entry), *ranks))
    columns: list[Column[_CopyRow]] = [
        Column("path", lambda row: row.entry.path if row.first else "", left=True),
        Column("size", lambda row: format_size(row.entry.bytes)),
        Column("slowest\nrank alone", lambda row: _marked(row, row.alone, sign_alone(row.entry)), gap=3),
        Column("slowest\nwith all", lambda row: _marked(row, row.with_all, row.sign), gap=3),
        Column("all\nat once", _all, gap=3),
        Column("share\nkept", _kept, gap=3),
    ]
    if any(row.limit for row in rows):
        columns.append(Column("of\nlimit", _share, gap=3))
    return table(columns, rows)


def _marked(row: _CopyRow, team: TeamFigure | None, mark: str) -> Text | None:
    if row.entry.impossible:
        return Text(IMPOSSIBLE, "red")
    if team is None:
        return None
    doubt = f" {UNCERTAIN}" if team.uncertain else ""
    return Text.assemble((mark, "yellow"), format_rate(row.rate(team)), (doubt, "yellow"))


def _all(row: _CopyRow) -> Text | None:
    if row.with_all is None:
        return None
    ranks = sum(team.name.endswith(TOGETHER) for team in row.entry.teams)
    return Text.assemble((row.sign, "yellow"), format_rate(ranks * row.rate(row.with_all)))


def _kept(row: _CopyRow) -> Text | None:
    """With the mark of the two figures; red where it surely is more than all."""
    if (share := kept(row.entry)) is None:
        return None
    style = "bold red" if share[1] > MUCH_KEPT else "yellow" if share[0] < 0.9 else ""
    return Text.assemble((doubts(row.sign, sign_alone(row.entry)), "yellow"), (percent(share[0]), style))


def _share(row: _CopyRow) -> Text | None:
    """Of the entry's own figure, the slowest rank with all, as everywhere."""
    if row.entry.impossible or (part := share(row.entry, row.limit)) is None:
        return None
    return Text(percent(part), share_style(part, exceeded=exceeds(row.entry, row.limit)))


class CopiesView(View):
    """Each rank alone, and all at once."""

    def layout(self, width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
        if any(len(entry.teams) > 1 for entry in run.figures.values()):
            tables: list[Table[Any]] = [_table(run), *copies_by_rank.tables(run, width)]
            return TableLayout(tables, compact=True, wide=(FAR_OFF,))
        return super().layout(width, run, sizes)

    legend = _LEGEND

    def bars(self, sets: Sequence[ReportRun]) -> list[Bars]:
        found = []
        for copy in sets:
            named = f": {copy.label}" if len(sets) > 1 else ""
            # Copies on the GPU are tens of times as fast: on one scale with them nobody would see the others.
            for title, on_device in (("Copies", False), ("Copies on the GPU", True)):
                paths = [path for path in copy.run.paths if _on_device(copy.run, path) is on_device]
                found.append(Bars(f"{title}, slowest rank{named}", [*_copies(copy.run, paths)]))
            found += copies_by_rank.bars(copy)
        return found


def _on_device(run: Run, path: str) -> bool:
    step = run.step(path)
    return step.memory == "device" and step.into in ("", "device")


def _copies(run: Run, paths: Sequence[str]) -> Iterator[Bar]:
    for label, entry in largest(run, paths):
        path, alone, together = text(entry.path), *(slowest_rank(entry, how) for how in (ALONE, TOGETHER))
        if entry.impossible:
            yield impossible(label, entry)
        elif alone is None or together is None:
            yield Bar(label, path, entry.rate, f"{''.join(rate_cell(run, entry))} GB/s{doubt(entry)}")
        else:
            mark = sign(run, entry)
            told = ((label, ALONE, alone, sign_alone(entry)), ("", TOGETHER, together, mark))
            for name, how, team, team_mark in told:
                rate = entry.amount / team.seconds
                note = f"{team_mark}{format_rate(rate)} GB/s {how}{doubt(team)}"
                yield Bar(name, path, rate, note, paler=how == TOGETHER)
