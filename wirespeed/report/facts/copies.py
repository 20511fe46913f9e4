"""Copies inside ranks: the slowest rank, alone or while all copy."""

from __future__ import annotations

from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry

ALONE, TOGETHER = "alone", "with all"
"""Ends of the names of an entry's teams."""


def slowest(entry: Entry, how: str) -> float | None:
    """Seconds of the slowest rank that copied ALONE or TOGETHER."""
    team = slowest_rank(entry, how)
    return team.seconds if team else None


def slowest_rank(entry: Entry, how: str) -> TeamFigure | None:
    """The slowest rank that copied ALONE or TOGETHER."""
    teams = (team for team in entry.teams if team.name.endswith(how) and team.seconds > 0)
    return max(teams, key=lambda team: team.seconds, default=None)
