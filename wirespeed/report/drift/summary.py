"""Summary of a watched machine at the end: drift and health of each path, and what went wrong where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.report.cannot_tell import CANNOT_TELL, lines
from wirespeed.report.compare.verdicts import FAILING, LOST, UNSURE, WORSE, PathVerdict
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.wrapped_line import say
from wirespeed.report.drift.detection import Drift, drifted, word
from wirespeed.report.facts import figures, health, soaks
from wirespeed.report.grouping import grouped, size_range
from wirespeed.results.model import Health
from wirespeed.units import duration, format_size

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
    unknown = {name for name in ("errors", "throttled") if all(getattr(path, name) is None for path in paths)}
    many = len(drift.runs)

    def new_errors(path_summary: PathSummary) -> Text | None:
        return (
            None
            if path_summary.errors is None
            else Text(str(path_summary.errors), "red" if path_summary.errors else "")
        )

    def throttled(path_summary: PathSummary) -> Text | None:
        if path_summary.throttled is None:
            return None
        return Text(f"{path_summary.throttled} of {many}", "red" if path_summary.throttled else "")

    columns: list[Column[PathSummary]] = [
        Column("path", lambda path_summary: path_summary.path, left=True),
        Column(
            f"time against\nthe first {drift.first}",
            lambda path_summary: Text(path_summary.drift, "red" if path_summary.harmful else ""),
            gap=3,
            left=True,
        ),
    ]
    if "errors" not in unknown:
        columns.append(Column("new\nerrors", new_errors, gap=3))
    if "throttled" not in unknown:
        columns.append(Column("repetitions\nthrottled", throttled, gap=3))
    console.print()
    console.print(Text(f"{many} repetition{'s' if many > 1 else ''} in {duration(drift.lasted)}", "bold"))
    console.print(table(columns, paths))
    for line in [*lines(drift.unjudged), *errors(drift), *held(drift), *wrong(drift)]:
        say(console, line, "yellow")
    if lacks := list(dict.fromkeys(line for health in drift.health for line in health.lacks)):
        say(console, f"not counted here: {'; '.join(lacks)}", "dim")
    if not drift.health:
        say(console, "errors and throttling were not read (--no-evidence)", "dim")
    elif unknown:
        what = " and ".join(word for name, word in UNKNOWN.items() if name in unknown)
        say(console, f"nothing on these hosts tells of {what} (docs/evidence.md)", "dim")


def summaries(drift: Drift) -> list[PathSummary]:
    """Every path that gave a figure, in the order measured."""
    records = grouped((health.path, health) for health in drift.health)
    return [
        PathSummary(
            path,
            *_drift(drift, path),
            sum(error.count for health in found for error in health.errors)
            if any(health.counted for health in found)
            else None,
            sum(bool(health.throttled) for health in found)
            if any(health.watched for health in found)
            else None,
        )
        for path in dict.fromkeys(path for path, _ in drift.keys)
        for found in [records.get(path, [])]
    ]


def _drift(drift: Drift, path: str) -> tuple[str, bool]:
    """The path's most harmful change in words, and whether it is harmful."""
    if len(drift.runs) <= drift.first:
        return f"not known before repetition {drift.first + 1}", False
    found = drift.verdicts
    worst = next((verdict for verdict in drifted(found) if verdict.key.path == path), None)
    if worst:
        where = "all sizes" if isinstance(worst, PathVerdict) else format_size(worst.key.bytes)
        return f"{word(worst)} at {where}", worst.what in (LOST, FAILING, WORSE)
    sizes = sorted(key.bytes for key in drift.ever if key.path == path)
    if sizes:
        where = format_size(sizes[-1]) if sizes[-1] else "all sizes"
        return f"worse for a while at {where}, not in the latest repetitions", True
    untold = [figure.key for figure in found.figures if figure.what == UNSURE]
    unsure = sorted({key.bytes for key in [*untold, *dict(drift.lacking)] if key.path == path})
    if unsure:
        return f"{CANNOT_TELL} at {size_range(unsure)}", False
    smallest = max(
        (path_verdict.smallest or 0.0 for path_verdict in found.paths if path_verdict.key.path == path),
        default=0.0,
    )
    return f"as before; {figures.percent(smallest)} more would be found" if smallest else "as before", False


def errors(drift: Drift) -> Iterator[str]:
    """'new NVLink replay errors: 36 in 3 of 30 repetitions: 30 on GPU 0 link 3, 6 on GPU 1 link 2'."""
    seen = [(number, error) for number, record in _records(drift) for error in record.errors]
    several = health.several_hosts(new_errors for _, new_errors in seen)
    for what, found in grouped(
        (new_errors.what, (number, new_errors)) for number, new_errors in seen
    ).items():
        places = grouped((health.place(new_errors, several), new_errors.count) for _, new_errors in found)
        counts = {place: sum(each) for place, each in places.items()}
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"new {what}: {sum(counts.values())} in {repetitions}: {health.counted(counts)}"


def wrong(drift: Drift) -> Iterator[str]:
    """'wrong messages of host at 64 KiB: 3 late at most, in 1 of 30 repetitions'."""
    seen = [(number, soak) for number, run in enumerate(drift.runs) for soak in run.soaks.values()]
    for (path, size), found in grouped(
        ((soak.path, soak.bytes), (number, soak)) for number, soak in seen
    ).items():
        if bad := [(number, soak) for number, soak in found if soak.wrong.total]:
            worst = max((soak for _, soak in bad), key=lambda soak: soak.wrong.total)
            repetitions = _of_all({number for number, _ in bad}, drift)
            where = f"{path} at {format_size(size)}"
            yield f"wrong messages of {where}: {soaks.wrong_words(worst)} at most, in {repetitions}"


def held(drift: Drift) -> Iterator[str]:
    """'the clocks of GPU 0 were held back by its power cap in 12 of 30 repetitions, for 4.1 s in all'."""
    seen = [(number, throttled) for number, record in _records(drift) for throttled in record.throttled]
    several = health.several_hosts(throttled for _, throttled in seen)
    alike = grouped(
        ((health.place(throttled, several), throttled.reason), (number, throttled))
        for number, throttled in seen
    )
    for (place, reason), found in alike.items():
        seconds = sum(throttled.seconds or 0.0 for _, throttled in found)
        lasted = f", for {figures.ratio(seconds)} s in all" if seconds else ""
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"the clocks of {place} were held back by {reason} in {repetitions}{lasted}"


def _records(drift: Drift) -> Iterator[tuple[int, Health]]:
    """What was read of the hosts' health, with the number of the repetition."""
    return ((number, record) for number, run in enumerate(drift.runs) for record in run.health.values())


def _of_all(numbers: set[int], drift: Drift) -> str:
    return f"{len(numbers)} of {len(drift.runs)} repetitions"
