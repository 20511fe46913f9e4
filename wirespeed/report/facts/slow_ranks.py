"""Which rank's copies are slower than those of the others, each alone: a GPU, or its link to the host."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.report.facts.machine import rank_title
from wirespeed.report.grouping import grouped
from wirespeed.results.by_rank import ALONE, of_ranks
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import middle
from wirespeed.units import format_rate

FAR = 0.25
"""Share of the others' median time by which a slow rank takes longer, at least: pageable copies of equal
GPUs differ by 0.23 (results/h200-x4-copy.jsonl)."""


def lines(run: Run) -> list[tuple[str, str]]:
    """('rank 1 on n1 with GPU 1 NVIDIA H200', 'copies more slowly than the others, each alone:
    h2d-pinned 27.1 GB/s (the others: 54.8)'), at each path's largest size.
    """
    told = grouped((rank, words) for path in run.paths for rank, words in _slow(run.of_path(path)[-1:]))
    places = {rank.rank: rank for path in run.paths for rank in run.step(path).ranks}
    return [
        (
            rank_title(places[rank]) if rank in places else f"rank {rank}",
            f"copies more slowly than the others, each alone: {', '.join(words)}",
        )
        for rank, words in sorted(told.items())
    ]


def _slow(entries: list[Entry]) -> Iterator[tuple[int, str]]:
    """Ranks whose whole interval is behind that of the others' median."""
    for entry in entries:
        alone = {rank: figures[ALONE] for rank, figures in of_ranks(entry).items() if ALONE in figures}
        for rank, team in alone.items():
            others = [other for number, other in alone.items() if number != rank]
            if entry.contended_team(team) or not others:
                continue
            median = middle(sorted(other.seconds for other in others))
            if _least(team) > (1 + FAR) * median:
                rates = (format_rate(entry.amount / seconds) for seconds in (team.seconds, median))
                yield rank, "{} {} GB/s (the others: {})".format(entry.path, *rates)


def _least(team: TeamFigure) -> float:
    return min(team.seconds, team.low)
