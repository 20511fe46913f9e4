"""Figures of each rank, where every rank copies inside itself: alone, and while all copy."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from wirespeed.results.model import Entry
from wirespeed.results.parts import TeamFigure, Times, rates

ALONE, TOGETHER = "alone", "with all"
"""Ends of the names of an entry's teams."""
_COUNTS = ("samples", "batches", "iterations_per_sample", "iterations")
RankFigures = dict[int, dict[str, TeamFigure]]
"""By rank, and by ALONE or TOGETHER."""


def of_ranks(entry: Entry) -> RankFigures:
    """Of one size; empty where one rank copied, or the figure is impossible."""
    found: RankFigures = {}
    for team in entry.teams if not entry.impossible else ():
        how = next((how for how in (ALONE, TOGETHER) if team.name.endswith(how)), None)
        if how and team.ranks == 1 and team.seconds > 0:
            found.setdefault(team.first, {})[how] = team
    return dict(sorted(found.items()))


def entries(entry: Entry) -> Iterator[Entry]:
    """An entry for each rank, alone and with all, which has that one team."""
    for figures in of_ranks(entry).values():
        for team in figures.values():
            times = team.times
            # How often each rank copied alone is not on record.
            counts = dict.fromkeys(_COUNTS, 0) if team.name.endswith(ALONE) else {}
            yield structs.replace(
                entry,
                **counts,
                times=Times(median=times.median, low=times.low, high=times.high, min=times.min),
                bytes_per_second=rates(entry.amount, times),
                precision=None,
                derived=[],
                teams=[team],
                cores=entry.cores and structs.replace(entry.cores, waited=team.waited),
            )
