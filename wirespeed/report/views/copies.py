"""Copies inside ranks: each alone, and while all copy; a row per kind of copy and size, and one per rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rich.text import Text

from wirespeed.grouping import grouped
from wirespeed.report.console.columns import Cell, Column, Table, filled, fold, table
from wirespeed.report.facts.copies import MUCH_KEPT, kept, slowest_rank
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.machine import device_word
from wirespeed.report.facts.markers import FAR_OFF, doubts, sign, sign_alone, sign_of_team
from wirespeed.report.facts.shares import percent
from wirespeed.report.views.size_table import TableLayout, View, limit_cell
from wirespeed.results.by_rank import ALONE, TOGETHER, RankFigures, of_ranks
from wirespeed.results.coerce import text
from wirespeed.results.parts import Rank, TeamFigure
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import format_rate, format_size

MOST = 32
"""Ranks with a line: of more the slowest ones. CSV has all."""


def _rate(entry: Entry, team: TeamFigure | None, mark: str) -> Text | None:
    """GB/s of one rank, with its marks; None: not known."""
    if team is None:
        return None
    doubt = f" {UNCERTAIN}" if team.uncertain else ""
    return Text.assemble((mark, "yellow"), format_rate(entry.amount / team.seconds), (doubt, "yellow"))


class _Copy(NamedTuple):
    """A row of the table."""

    entry: Entry
    path: str
    """Empty but in the first row of a path."""
    slowest: list[Cell]
    """Rates of the slowest rank alone, and with all others."""
    all_ranks: Cell
    kept: Cell
    share: Cell


def _copy(run: Run, entry: Entry, first: bool) -> _Copy:
    alone, with_all = (slowest_rank(entry, how) for how in (ALONE, TOGETHER))
    mark, own = sign(run, entry), sign_alone(entry)
    slowest: list[Cell] = [_rate(entry, alone, own), _rate(entry, with_all, mark)]
    in_all, left = None, kept(entry)
    if with_all:
        ranks = sum(team.name.endswith(TOGETHER) for team in entry.teams)
        in_all = Text.assemble((mark, "yellow"), format_rate(ranks * entry.amount / with_all.seconds))
    # Red where it surely is more than all.
    style = "" if not left else "bold red" if left[1] > MUCH_KEPT else "yellow" if left[0] < 0.9 else ""
    return _Copy(
        entry,
        entry.path if first else "",
        [Text(IMPOSSIBLE, "red")] * 2 if entry.impossible else slowest,
        in_all,
        Text.assemble((doubts(mark, own), "yellow"), (percent(left[0]), style)) if left else None,
        None if entry.impossible else limit_cell(run, entry),
    )


def _table(run: Run) -> Table[_Copy]:
    """GB/s of the slowest rank alone, of the slowest one while all copy, and of all together."""
    columns: list[Column[_Copy]] = [
        Column("path", lambda row: row.path, left=True),
        Column("size", lambda row: format_size(row.entry.bytes)),
        Column("slowest\nrank alone", lambda row: row.slowest[0], gap=3),
        Column("slowest\nwith all", lambda row: row.slowest[1], gap=3),
        Column("all\nat once", lambda row: row.all_ranks, gap=3),
        Column("share\nkept", lambda row: row.kept, gap=3),
    ]
    if any(map(run.ceiling, run.paths)):
        columns.append(Column("of\nlimit", lambda row: row.share, gap=3))
    found = grouped((path, entry) for (path, _), entry in run.figures.items())
    rows = [_copy(run, entry, not at) for path in run.paths for at, entry in enumerate(found[path])]
    return table(filled(columns, rows), rows)


def _places(run: Run) -> dict[int, Rank]:
    return {rank.rank: rank for path in run.paths for rank in run.step(path).ranks}


def _last(run: Run) -> Iterator[tuple[Entry, RankFigures]]:
    """Each path's largest size, and the figures of each rank; none where one rank copied."""
    for entry in (entry for path in run.paths for entry in run.of_path(path)[-1:]):
        if len(figures := of_ranks(entry)) > 1:
            yield entry, figures


def _tables_of_ranks(run: Run, width: int) -> list[Table[int]]:
    """Rows are ranks, columns the paths at their largest sizes."""
    found = {entry.path: (entry, figures) for entry, figures in _last(run)}
    places = _places(run)
    everyone = sorted({rank for _, figures in found.values() for rank in figures})
    ranks = _shown(everyone, [figures for _, figures in found.values()])
    leading: list[Column[int]] = [Column("rank", str)]
    if len({place.host for place in places.values()}) > 1:
        leading.append(Column("host", partial(_host, places), left=True, gap=2))
    leading.append(Column("on", partial(_device, places), left=True, gap=2))

    def build(paths: Sequence[str], _: int) -> Table[int]:
        columns = list(leading)
        for path in paths:
            for how in (ALONE, TOGETHER):
                if any(how in of for of in found[path][1].values()):
                    columns.append(Column(how, partial(_of_rank, *found[path], how), gap=2, group=path))
        return Table(columns, [(f"GB/s of each rank, {format_size(found[paths[0]][0].bytes)}", ranks)])

    by_size = grouped((entry.bytes, path) for path, (entry, _) in found.items())
    return [each for paths in by_size.values() for each in fold(paths, build, width)]


def _host(places: Mapping[int, Rank], rank: int) -> str:
    return text(places[rank].host) if rank in places else ""


def _device(places: Mapping[int, Rank], rank: int) -> str:
    return device_word(places[rank]) if rank in places else ""


def _of_rank(entry: Entry, figures: RankFigures, how: str, rank: int) -> Text | None:
    team = figures.get(rank, {}).get(how)
    return _rate(entry, team, sign_of_team(entry, team)) if team else None


def _shown(ranks: Sequence[int], figures: Sequence[RankFigures]) -> list[int]:
    """All ranks, or those that are the slowest on any path, in order."""
    alone = [{number: of[ALONE].seconds for number, of in each.items() if ALONE in of} for each in figures]

    def slowness(rank: int) -> float:
        return max((each[rank] / min(each.values()) for each in alone if rank in each), default=0.0)

    return sorted(sorted(ranks, key=slowness, reverse=True)[:MOST])


class CopiesView(View):
    """Each rank alone, and all at once."""

    legend = (
        "GB/s of one rank, the slowest one, alone and while all copy; all at once: ranks x the latter; share "
        "kept: what is left of a rank's rate when all copy; of limit: the slowest rank with all"
    )

    def tables(self, width: int, run: Run) -> Sequence[Table[Any]]:
        several = any(len(entry.teams) > 1 for entry in run.figures.values())
        return [_table(run), *_tables_of_ranks(run, width)] if several else ()

    def layout(self, width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
        if tables := self.tables(width, run):
            return TableLayout(tables, compact=True, wide=(FAR_OFF,))
        return super().layout(width, run, sizes)
