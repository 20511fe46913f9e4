"""Where many teams were measured at once: the slowest of them, and how far it stands from the others."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import middle
from wirespeed.units import format_rate, format_seconds, format_size

NAMED = 3
"""So many slow ones are named for each path and size."""
FAR = 0.05
"""Slower than the median by more than this share: worth a line."""


def print_members(console: Console, run: Run) -> None:
    """For each path the slowest teams at its largest size; at its smallest one, too, where they differ."""
    lines = [line for path in run.paths for line in _path_lines(run, path)]
    if lines:
        console.print()
    for line in lines:
        say(console, Text(line, style="dim"))


def _path_lines(run: Run, path: str) -> list[str]:
    entries = [entry for entry in run.of_path(path) if len(entry.members) > 1]
    ends = dict.fromkeys(entries[:1] + entries[-1:])
    return [f"{path}, {format_size(entry.bytes)}: {describe(entry)}" for entry in ends]


def describe(entry: Entry) -> str:
    """'slowest 0-3: 12.1 GB/s, 38 % slower than the median of 28 (19.5 GB/s); then ...'."""
    ranked = sorted(entry.members, key=lambda member: -member.seconds)
    usual = middle(sorted(member.seconds for member in ranked))
    first = f"slowest {_figure(entry, ranked[0])}"
    behind = ranked[0].seconds / usual - 1
    more = f"{behind + 1:.3g} times" if behind >= 1 else f"{100 * behind:.0f} % more than"
    text = f"{first}, {more} the median of {len(ranked)}"
    if behind < FAR:
        return text
    others = [one for one in ranked[1:NAMED] if one.seconds / usual - 1 >= FAR]
    return "; then ".join([text, *(_figure(entry, one) for one in others)])


def _figure(entry: Entry, member: TeamFigure) -> str:
    rate = f" ({format_rate(entry.amount / member.seconds)} GB/s)" if entry.amount else ""
    return f"{member.name}: {format_seconds(member.seconds)}{rate}"


def by_pair(members: Sequence[TeamFigure]) -> dict[tuple[int, int], TeamFigure]:
    """Members whose names are two ranks, as in 0-3."""
    found = {}
    for member in members:
        first, sign, second = member.name.partition("-")
        if sign and first.isdecimal() and second.isdecimal():
            found[int(first), int(second)] = member
    return found
