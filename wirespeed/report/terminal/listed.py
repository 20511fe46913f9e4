"""Result files as a list: date, host, command, verdict, a line each, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts import survey
from wirespeed.report.facts.machine import when
from wirespeed.report.facts.trust import trust
from wirespeed.report.sources import Source
from wirespeed.results.runs import Run
from wirespeed.units import counted

NOTHING = "no figures"


def print_list(console: Console, sources: Sequence[Source]) -> None:
    """As a table where it fits, else two lines for each file."""
    ordered = sorted(sources, key=_started)
    columns: list[Column[Source]] = [
        Column("date", lambda source: when(_started(source)), left=True),
        Column("host", _host, left=True, gap=2),
        Column("file", lambda source: Path(source.file).name, left=True, gap=2),
        Column("command", _command, left=True, gap=2, style="dim", drop=1),
        Column("verdict", lambda source: _verdict(source)[1], left=True, gap=2),
    ]
    listed = table(columns, ordered, ruled=False).fit(console.width)
    if listed.width <= console.width:
        console.print(listed, crop=False)
        return
    for source in ordered:
        good, words = _verdict(source)
        head = "  ".join(filter(None, (when(_started(source)), _host(source), source.file)))
        say(console, head, "bold")
        say(console, f"  {_command(source)}", "dim", indent=4)
        say(console, Text(f"  {words}", "green" if good else "yellow"), indent=4)


def as_json(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """An object for each file, oldest first."""
    told = []
    for source in sorted(sources, key=_started):
        good, words = _verdict(source)
        names = {"date": _started(source), "host": _host(source), "file": source.file}
        told.append({**names, "command": _command(source), "good": good, "verdict": words})
    return told


def _started(source: Source) -> str:
    return min((run.head.started for run in source.runs), default="")


def _host(source: Source) -> str:
    return ", ".join(dict.fromkeys(filter(None, (run.head.environment.host for run in source.runs))))


def _command(source: Source) -> str:
    commands = dict.fromkeys(" ".join(_asked(run)) or run.head.plan.pattern for run in source.runs)
    first, *more = commands or ("",)
    return f"{first}, and {len(more)} more" if more else first


def _asked(run: Run) -> list[str]:
    """The command without the program and its result file."""
    words = [*run.head.command[1:]]
    at = next((at for at, word in enumerate(words) if word in ("--out", "-o")), len(words))
    return words[:at] + words[at + 2 :]


def _verdict(source: Source) -> tuple[bool, str]:
    """(good?, 'trust: yes, 31 figures', 'trust: no, because ... (and 2 more reasons)')."""
    told = [trust(run) for run in source.runs if run.entries]
    doubted = [reason for each in told for reason in each.reasons]
    found = [f"the doctor found {counted(len(source.findings), 'fault')}"] * bool(source.findings)
    if told and all(_asked(run)[:1] == ["survey"] for run in source.runs):
        good, words = survey.trusted(source.runs)
        return good and not found, "; ".join([f"trust: {words}", *found])
    if doubted:
        more = len(dict.fromkeys(doubted)) - 1
        reasons = f" (and {counted(more, 'more reason')})" if more else ""
        words = f"trust: no, because {doubted[0]}{reasons}"
    elif told:
        words = f"trust: yes, {counted(sum(len(run.entries) for run in source.runs), 'figure')}"
    else:
        words = NOTHING
    return bool(told) and not doubted and not found, "; ".join([words, *found])
