"""A line for each process: what its copies reach alone, and while all processes copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.text import Text

from wirespeed.report.console.columns import Column, Table, fold
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.machine import device_word
from wirespeed.report.facts.markers import sign_of_team
from wirespeed.report.grouping import grouped
from wirespeed.report.sources import ReportRun
from wirespeed.report.views.base import Bar, Bars, doubt
from wirespeed.results.by_rank import ALONE, TOGETHER, RankFigures, of_ranks
from wirespeed.results.coerce import text
from wirespeed.results.parts import Rank
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

MOST = 32
"""Ranks with a line: of more the slowest ones. CSV has all."""
_Row = int


def tables(run: Run, width: int) -> list[Table[_Row]]:
    """Rows are ranks, columns the paths at their largest sizes; none where one rank copied."""
    found = {entry.path: (entry, of_ranks(entry)) for entry in _largest(run)}
    found = {path: pair for path, pair in found.items() if len(pair[1]) > 1}
    if not found:
        return []
    places = {rank.rank: rank for path in run.paths for rank in run.step(path).ranks}
    everyone = sorted({rank for _, figures in found.values() for rank in figures})
    ranks = shown(everyone, [figures for _, figures in found.values()])
    hosts = {place.host for place in places.values()}

    def place(tell: Callable[[Rank], str], rank: _Row) -> str:
        return tell(places[rank]) if rank in places else ""

    leading: list[Column[_Row]] = [Column("rank", str)]
    if len(hosts) > 1:
        leading.append(Column("host", partial(place, lambda rank: text(rank.host)), left=True, gap=2))
    leading.append(Column("on", partial(place, device_word), left=True, gap=2))

    def build(paths: Sequence[str], _: int) -> Table[_Row]:
        columns = list(leading)
        for path in paths:
            entry, figures = found[path]
            for how in (ALONE, TOGETHER):
                columns.append(Column(how, partial(_cell, entry, figures, how), gap=2, group=path))
        title = f"GB/s of each rank, {format_size(found[paths[0]][0].bytes)}"
        return Table(columns, [(title, ranks)])

    by_size = grouped((entry.bytes, path) for path, (entry, _) in found.items())
    return [each for paths in by_size.values() for each in fold(paths, build, width)]


def shown(ranks: Sequence[int], figures: Sequence[RankFigures]) -> list[int]:
    """All ranks, or those that are the slowest on any path, in order."""

    def slowness(rank: int) -> float:
        times = [
            {number: of[ALONE].seconds for number, of in each.items() if ALONE in of} for each in figures
        ]
        return max((each[rank] / min(each.values()) for each in times if rank in each), default=0.0)

    return sorted(sorted(ranks, key=slowness, reverse=True)[:MOST])


def _largest(run: Run) -> list[Entry]:
    return [entry for path in run.paths for entry in run.of_path(path)[-1:]]


def _cell(entry: Entry, figures: RankFigures, how: str, rank: _Row) -> Text | None:
    team = figures.get(rank, {}).get(how)
    if team is None:
        return None
    doubt = f" {UNCERTAIN}" if team.uncertain else ""
    mark = (sign_of_team(entry, team), "yellow")
    return Text.assemble(mark, format_rate(entry.amount / team.seconds), (doubt, "yellow"))


def bars(measured: ReportRun) -> Iterator[Bars]:
    """A group for each path at its largest size: each rank alone, and paler with all."""
    run = measured.run
    places = {rank.rank: rank for path in run.paths for rank in run.step(path).ranks}
    for entry in _largest(run):
        figures = of_ranks(entry)
        if len(figures) < 2:
            continue
        found = []
        for rank in shown(list(figures), [figures]):
            where = f", {device_word(places[rank])}" if rank in places else ""
            for how, team in figures[rank].items():
                rate = entry.amount / team.seconds
                label = text(f"rank {rank}{where}") if how == ALONE else ""
                note = f"{sign_of_team(entry, team)}{format_rate(rate)} GB/s {how}{doubt(team)}"
                found.append(Bar(label, text(entry.path), rate, note, paler=how == TOGETHER))
        yield Bars(text(f"{entry.path}, {format_size(entry.bytes)}: each rank"), found)
