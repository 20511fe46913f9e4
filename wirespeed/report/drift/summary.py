"""What a watched machine did, at the end: drift and health of each path, and what went wrong where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.report.drift.detection import LATEST, Drift, drifted, word
from wirespeed.report.facts import figures, health
from wirespeed.report.grouping import grouped
from wirespeed.report.terminal.columns import Column, table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.model import Health
from wirespeed.units import format_size

UNKNOWN = {"errors": "new errors", "throttled": "throttling"}


@dataclass(frozen=True)
class PathSummary:
    """One path over all repetitions."""

    path: str
    drift: str
    harmful: bool
    errors: int | None
    """New ones; None: nobody counts."""
    throttled: int | None
    """Repetitions in which something held clocks back; None: nothing tells."""


def print_summary(console: Console, drift: Drift) -> None:
    """A line per path, then what went wrong; nothing where nothing was measured."""
    paths = summaries(drift)
    if not paths:
        return
    unknown = {name for name in ("errors", "throttled") if all(getattr(one, name) is None for one in paths)}
    many = len(drift.runs)

    def new_errors(one: PathSummary) -> Text | None:
        return None if one.errors is None else Text(str(one.errors), "red" if one.errors else "")

    def throttled(one: PathSummary) -> Text | None:
        if one.throttled is None:
            return None
        return Text(f"{one.throttled} of {many}", "red" if one.throttled else "")

    columns: list[Column[PathSummary]] = [
        Column("path", lambda one: one.path, left=True),
        Column(
            f"time against\nthe first {drift.first}",
            lambda one: Text(one.drift, "red" if one.harmful else ""),
            gap=3,
            left=True,
        ),
    ]
    if "errors" not in unknown:
        columns.append(Column("new\nerrors", new_errors, gap=3))
    if "throttled" not in unknown:
        columns.append(Column("repetitions\nthrottled", throttled, gap=3))
    console.print()
    console.print(
        Text(f"{many} repetition{'s' if many > 1 else ''} in {figures.duration(drift.lasted)}", "bold")
    )
    console.print(table(columns, paths))
    for line in [*errors(drift), *held(drift)]:
        say(console, line, "yellow")
    if lacks := list(dict.fromkeys(line for one in drift.health for line in one.lacks)):
        say(console, f"not counted here: {'; '.join(lacks)}", "dim")
    if not drift.health:
        say(console, "errors and throttling were not read (--no-evidence)", "dim")
    elif unknown:
        what = " and ".join(word for name, word in UNKNOWN.items() if name in unknown)
        say(console, f"nothing on these hosts tells of {what} (docs/health.md)", "dim")


def summaries(drift: Drift) -> list[PathSummary]:
    """Every path that gave a figure, in the order measured."""
    records = grouped((one.path, one) for one in drift.health)
    return [
        PathSummary(
            path,
            *_drift(drift, path),
            sum(error.count for one in found for error in one.errors)
            if any(one.counted for one in found)
            else None,
            sum(bool(one.throttled) for one in found) if any(one.watched for one in found) else None,
        )
        for path in dict.fromkeys(path for path, _ in drift.keys)
        for found in [records.get(path, [])]
    ]


def _drift(drift: Drift, path: str) -> tuple[str, bool]:
    """The path's most harmful change in words, and whether it is harmful."""
    if len(drift.runs) <= drift.first:
        return f"not known before repetition {drift.first + 1}", False
    worst = next((one for one in drifted(drift.verdicts) if one.key.path == path), None)
    if worst:
        return f"{word(worst)} at {format_size(worst.key.bytes)}", worst.harmful
    sizes = sorted(key.bytes for key in drift.ever if key.path == path)
    if sizes:
        return f"as before in the latest {LATEST}, worse for a while at {format_size(sizes[-1])}", True
    return "as before", False


def errors(drift: Drift) -> Iterator[str]:
    """'new NVLink replay errors: 36 in 3 of 30 repetitions: 30 on GPU 0 link 3, 6 on GPU 1 link 2'."""
    seen = [(number, one) for number, record in _records(drift) for one in record.errors]
    several = health.several_hosts(one for _, one in seen)
    for what, found in grouped((one.what, (number, one)) for number, one in seen).items():
        places = grouped((health.place(one, several), one.count) for _, one in found)
        counts = {place: sum(each) for place, each in places.items()}
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"new {what}: {sum(counts.values())} in {repetitions}: {health.counted(counts)}"


def held(drift: Drift) -> Iterator[str]:
    """'the clocks of GPU 0 were held back by its power cap in 12 of 30 repetitions, for 4.1 s in all'."""
    seen = [(number, one) for number, record in _records(drift) for one in record.throttled]
    several = health.several_hosts(one for _, one in seen)
    alike = grouped(((health.place(one, several), one.reason), (number, one)) for number, one in seen)
    for (place, reason), found in alike.items():
        seconds = sum(one.seconds or 0.0 for _, one in found)
        lasted = f", for {figures.ratio(seconds)} s in all" if seconds else ""
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"the clocks of {place} were held back by {reason} in {repetitions}{lasted}"


def _records(drift: Drift) -> Iterator[tuple[int, Health]]:
    """What was read of the hosts' health, with the number of the repetition."""
    return ((number, record) for number, run in enumerate(drift.runs) for record in run.health.values())


def _of_all(numbers: set[int], drift: Drift) -> str:
    return f"{len(numbers)} of {len(drift.runs)} repetitions"
