"""The slowest of many teams measured at once, or of ranks alone, and how far it is from the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from wirespeed.grouping import grouped
from wirespeed.report.facts import figures
from wirespeed.report.facts.machine import rank_title
from wirespeed.report.facts.markers import sign_of_team
from wirespeed.results.by_rank import ALONE, of_ranks
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import median
from wirespeed.units import format_rate, format_seconds, format_size

NAMED = 3
"""So many slow teams are named for each path and size."""
FAR = 0.05
"""Share above the median from which further slow teams are named."""
NEAR = 0.02
"""Share above the median up to which the slowest team is like the others, and not worth a line."""

FAR_ALONE = 0.25
"""Share of the others' median time by which a slow rank takes longer, at least: pageable copies of equal
GPUs differ by 0.23 (results/h200-x4-copy.jsonl)."""
SMALL = 65536
"""Messages up to this size are shown by their time, larger ones by their bandwidth."""
WAYS = {
    "to all": ("rank {} to all", "one rank to all others"),
    "from all": ("all to rank {}", "all others to one"),
}
"""By a column's head: the name of its team of a rank, and what it is."""


def lines(run: Run) -> Iterator[tuple[bool, str, str]]:
    """(is it far behind?, 'aware, 64 MiB', words) of the slowest teams at each path's largest size.

    At its smallest one, too, where they differ; of pairs of ranks also that they agree.
    """
    # Those stand in its table.
    if run.traits.timing.alone_too:
        return
    for path in run.paths:
        entries = [entry for entry in run.of_path(path) if len(entry.teams) > 1]
        for entry in dict.fromkeys(entries[:1] + entries[-1:]):
            agreed = entry is entries[-1] and len(by_pair(entry.teams)) > 1
            if agreed or behind(entry) >= NEAR:
                yield behind(entry) >= FAR, f"{path}, {format_size(entry.bytes)}", describe(entry)


def describe(entry: Entry, teams: Collection[TeamFigure] = ()) -> str:
    """'slowest 0-3: 22.1 us (12.1 GB/s), 38 % more than the median of 28; then ...', or that all agree.

    `teams`: those of the entry that are compared. Default: all.
    """
    teams = teams or entry.teams
    slowest, *others = sorted(teams, key=lambda team: -team.seconds)[:NAMED]
    median = median_of(teams)
    far = slowest.seconds / median - 1
    if far < NEAR:
        return f"all {len(teams)} within {figures.percent(NEAR)} of the median"
    more = f"{far + 1:.3g} times" if far >= 1 else f"{100 * far:.0f} % more than"
    text = f"slowest {_figure(entry, slowest)}, {more} the median of {len(teams)}"
    slow = (_figure(entry, other) for other in others if other.seconds / median - 1 >= FAR)
    return "; then ".join([text, *slow])


def behind(entry: Entry) -> float:
    """Lag of the slowest team behind the median team, as a share of the median."""
    return max(team.seconds for team in entry.teams) / median_of(entry.teams) - 1


def median_of(teams: Collection[TeamFigure]) -> float:
    """Seconds of the median team."""
    return median(team.seconds for team in teams)


def _figure(entry: Entry, team: TeamFigure) -> str:
    rate = f" ({format_rate(entry.amount / team.seconds)} GB/s)" if entry.amount else ""
    return f"{team.name}: {sign_of_team(entry, team)}{format_seconds(team.seconds)}{rate}"


def by_pair(teams: Sequence[TeamFigure]) -> dict[tuple[int, int], TeamFigure]:
    """Teams whose names are two ranks, as in 0-3."""
    found = {}
    for team in teams:
        first, sign, second = team.name.partition("-")
        if sign and first.isdecimal() and second.isdecimal():
            found[int(first), int(second)] = team
    return found


def by_rank(entry: Entry) -> dict[str, dict[int, TeamFigure]]:
    """The teams by their rank, for each direction that was measured: 'to all', 'from all'."""
    found: dict[str, dict[int, TeamFigure]] = {}
    for head, (name, _) in WAYS.items():
        teams = [team for team in entry.teams if team.name == name.format(team.first)]
        if teams:
            found[head] = {team.first: team for team in teams}
    return found


def slow_ranks(run: Run) -> list[tuple[str, str]]:
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
            usual = median(other.seconds for other in others)
            if min(team.seconds, team.low) > (1 + FAR_ALONE) * usual:
                rates = (format_rate(entry.amount / seconds) for seconds in (team.seconds, usual))
                yield rank, "{} {} GB/s (the others: {})".format(entry.path, *rates)
