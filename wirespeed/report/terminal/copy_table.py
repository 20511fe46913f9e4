"""Copies inside ranks: each rank alone, and all at once; one row per kind of copy and size."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from wirespeed.limits import Ceiling
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.facts.copies import ALONE, TOGETHER, slowest_rank
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.markers import CONTENDED, FAR, FAR_OFF, doubts, share_style, sign
from wirespeed.report.facts.shares import percent
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.statistics.samples import ratio_interval
from wirespeed.units import format_rate, format_size

LEGEND = (
    "GB/s of one rank, the slowest one, alone and while all copy; all at once: ranks x the latter; share "
    "kept: what is left of a rank's rate when all copy, ! surely more than all of it: something else "
    "slowed the rank that copied alone; of limit: the slowest rank alone"
)


MUCH_KEPT = 1.05
"""More than that share of its rate no rank keeps."""


@dataclass(frozen=True)
class _CopyRow:
    """The slowest rank's figures; None: unknown, or impossible."""

    entry: Entry
    first: bool
    """The first of its path."""
    limit: Ceiling | None
    sign: str
    """Of the figure with all."""
    alone: TeamFigure | None
    with_all: TeamFigure | None

    @property
    def alone_sign(self) -> str:
        """'&': its rank waited for CPUs; '!': not within ±10 %."""
        if self.alone is None:
            return ""
        if self.entry.contended_team(self.alone):
            return CONTENDED
        return FAR_OFF if self.alone.high - self.alone.low > 2 * FAR * self.alone.seconds else ""

    def rate(self, team: TeamFigure) -> float:
        """Bytes per second."""
        return self.entry.amount / team.seconds


def build(run: Run) -> Table[_CopyRow]:
    """GB/s of the slowest rank alone, of the slowest one while all copy, and of all together."""
    rows = []
    for path in run.paths:
        limit = run.ceiling(path)
        entries = [run.figures[key] for key in run.figures if key[0] == path]
        for number, entry in enumerate(entries):
            ranks = [None if entry.impossible else slowest_rank(entry, how) for how in (ALONE, TOGETHER)]
            rows.append(_CopyRow(entry, not number, limit, sign(run, entry, graded=True), *ranks))
    columns: list[Column[_CopyRow]] = [
        Column("path", lambda row: row.entry.path if row.first else "", left=True),
        Column("size", lambda row: format_size(row.entry.bytes)),
        Column("slowest\nrank alone", lambda row: _marked(row, row.alone, row.alone_sign), gap=3),
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


def _all(row: _CopyRow) -> str | None:
    ranks = sum(team.name.endswith(TOGETHER) for team in row.entry.teams)
    return format_rate(ranks * row.rate(row.with_all)) if row.with_all else None


def _kept(row: _CopyRow) -> Text | None:
    """With the mark of the two figures; '!' where it surely is more than all."""
    if not row.alone or not row.with_all:
        return None
    times = [(team.seconds, team.low, team.high) for team in (row.alone, row.with_all)]
    kept, least, _ = ratio_interval(*times)
    marks = doubts(row.sign, row.alone_sign, FAR_OFF if least > MUCH_KEPT else "")
    return Text.assemble((marks, "yellow"), (f"{100 * kept:.0f} %", "yellow" if kept < 0.9 else ""))


def _share(row: _CopyRow) -> Text | None:
    """Of the slowest rank alone."""
    if not row.alone or not row.limit:
        return None
    rate = row.rate(row.alone)
    part, exceeded = (judge(rate, row.entry.bytes) for judge in (row.limit.share, row.limit.exceeded))
    return None if part is None else Text(percent(part), share_style(part, exceeded=bool(exceeded)))
