"""Copies inside ranks: the slowest rank alone, the slowest one while all copy, and what its rate keeps."""

from __future__ import annotations

from wirespeed.report.facts.shares import percent
from wirespeed.results.by_rank import ALONE, TOGETHER
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import ratio_interval
from wirespeed.units import format_size

MUCH_KEPT = 1.05
"""More than that share of its rate no rank keeps."""


def slowest_rank(entry: Entry, how: str) -> TeamFigure | None:
    """The slowest rank that copied ALONE or TOGETHER; None of an impossible figure."""
    if not entry.teams or entry.impossible:
        return None
    teams = (team for team in entry.teams if team.name.endswith(how) and team.seconds > 0)
    return max(teams, key=lambda team: team.seconds, default=None)


def alone_waited(entry: Entry) -> float | None:
    """Share of its time in which the slowest rank alone waited for a CPU; None: not known."""
    alone = slowest_rank(entry, ALONE)
    return alone.waited if alone else None


def waited_alone(entry: Entry) -> bool:
    """True where the slowest rank alone waited for CPUs, whatever it did with all others."""
    alone = slowest_rank(entry, ALONE)
    return alone is not None and entry.contended_team(alone)


def alone_precision(entry: Entry) -> float | None:
    """Half width of the interval of the slowest rank alone, as a share of its median; None without one."""
    alone = slowest_rank(entry, ALONE)
    if alone is None or not alone.high > alone.low:
        return None
    return (alone.high - alone.low) / 2 / alone.seconds


def kept(entry: Entry) -> tuple[float, float, float] | None:
    """Share of a rank's rate that is left when all copy, and the ends of its interval."""
    alone, together = (slowest_rank(entry, how) for how in (ALONE, TOGETHER))
    if alone is None or together is None:
        return None
    return ratio_interval(*((team.seconds, team.low, team.high) for team in (alone, together)))


def gained(run: Run) -> list[Entry]:
    """Figures whose ranks surely copied faster with all others than alone: something slowed them alone."""
    shares = ((entry, kept(entry)) for entry in run.entries.values())
    return [entry for entry, share in shares if share and share[1] > MUCH_KEPT]


def notes(run: Run) -> list[str]:
    """'h2d-managed at 64 MiB kept 119 % of its rate alone: ...', of all such figures."""
    places = [
        f"{entry.path} at {format_size(entry.bytes)} kept {percent(share[0])}"
        for entry in gained(run)
        if (share := kept(entry))
    ]
    why = "of the rate alone: something else slowed the rank that copied alone"
    return [f"{', '.join(places)} {why}"] if places else []
