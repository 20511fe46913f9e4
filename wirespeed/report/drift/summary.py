"""Summary of a watched machine at the end: drift and health of each path, and what went wrong where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.report.cannot_tell import CANNOT_TELL, lines
from wirespeed.report.compare.verdicts import unsure
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.drift.detection import LATE, LATE_AMONG, Drift, drifted, unchanged, word
from wirespeed.report.facts import figures, health, soaks
from wirespeed.report.grouping import grouped, size_range
from wirespeed.report.smallest import MAX_TIMES, is_missed, slower
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
    """New ones; None: there is no counter."""
    throttled: int | None
    """Repetitions in which something held clocks back; None: nothing tells."""


def print_summary(console: Console, drift: Drift) -> None:
    """A line per path, then what went wrong; nothing where nothing was measured."""
    paths = summaries(drift)
    if not paths:
        return
    unknown = {name for name in ("errors", "throttled") if all(getattr(path, name) is None for path in paths)}
    many = len(drift.runs)

    def change(row: PathSummary) -> Text:
        return Text(row.drift, "red" if row.harmful else "")

    def counted(count: int | None, of: str = "") -> Text | None:
        return None if count is None else Text(f"{count}{of}", "red" if count else "")

    columns: list[Column[PathSummary]] = [
        Column("path", lambda row: row.path, left=True),
        Column(f"time against\nthe first {drift.first}", change, gap=3, left=True),
    ]
    if "errors" not in unknown:
        columns.append(Column("new\nerrors", lambda row: counted(row.errors), gap=3))
    if "throttled" not in unknown:
        of_all = f" of {many}"
        columns.append(Column("repetitions\nthrottled", lambda row: counted(row.throttled, of_all), gap=3))
    console.print()
    console.print(Text(f"{many} repetition{'s' if many > 1 else ''} in {duration(drift.lasted)}", "bold"))
    console.print(table(columns, paths))
    for line in [*lines(drift.unjudged), *late(drift), *errors(drift), *held(drift), *wrong(drift)]:
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
    rows = []
    for path in dict.fromkeys(path for path, _ in drift.keys):
        found = records.get(path, [])
        errors = sum(error.count for health in found for error in health.errors)
        throttled = sum(bool(health.throttled) for health in found)
        known = any(health.counted for health in found), any(health.watched for health in found)
        counts = (count if told else None for count, told in zip((errors, throttled), known, strict=True))
        rows.append(PathSummary(path, *_drift(drift, path), *counts))
    return rows


def _drift(drift: Drift, path: str) -> tuple[str, bool]:
    """The path's most harmful change in words, and whether it is harmful."""
    if len(drift.runs) <= drift.first:
        return f"not known before repetition {drift.first + 1}", False
    found = drift.verdicts
    worst = next((verdict for verdict in drifted(found) if verdict.key.path == path), None)
    if worst:
        return f"{word(worst)} at {size_range(worst.sizes)}", worst.harmful
    sizes = sorted(key.bytes for key in drift.ever if key.path == path)
    if sizes:
        where = format_size(sizes[-1]) if sizes[-1] else "several sizes"
        return f"worse for a while at {where}, not in the latest repetitions", True
    untold = sorted({key.bytes for key in dict([*unsure(found), *drift.lacking]) if key.path == path})
    if untold:
        return f"{CANNOT_TELL} at {size_range(untold)}", False
    wholes = [whole for whole in found.groups if whole.key.path == path]
    smallest = max((whole.smallest or 0.0 for whole in wholes), default=0.0)
    would_show = f"miss even {MAX_TIMES} times as slow" if is_missed(smallest) else f"show {slower(smallest)}"
    return f"{unchanged(wholes)}; would {would_show}" if smallest else unchanged(wholes), False


def late(drift: Drift) -> Iterator[str]:
    """'pingpong host is late now and then: in 10 of 40 repetitions by 1.5 times or more, up to 2.0 times'."""
    for path, (count, most) in drift.ever_late.items():
        among = min(len(drift.runs), LATE_AMONG)
        often = f"in {count} of {among} repetitions by {LATE:g} times or more, up to {most:.2g} times"
        yield f"{path.title} is late now and then: {often}"


def errors(drift: Drift) -> Iterator[str]:
    """'new NVLink replay errors: 36 in 3 of 30 repetitions: 30 on GPU 0 link 3, 6 on GPU 1 link 2'."""
    seen = [(number, error) for number, record in _records(drift) for error in record.errors]
    several = health.several_hosts(error for _, error in seen)
    for what, found in grouped((error.what, (number, error)) for number, error in seen).items():
        places = grouped((health.place(error, several), error.count) for _, error in found)
        counts = {place: sum(each) for place, each in places.items()}
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"new {what}: {sum(counts.values())} in {repetitions}: {health.counted(counts)}"


def wrong(drift: Drift) -> Iterator[str]:
    """'wrong messages of host at 64 KiB: 3 late at most, in 1 of 30 repetitions'."""
    seen = [(number, soak) for number, run in enumerate(drift.runs) for soak in run.soaks.values()]
    places = grouped(((soak.path, soak.bytes), (number, soak)) for number, soak in seen)
    for (path, size), found in places.items():
        if bad := [(number, soak) for number, soak in found if soak.wrong.total]:
            worst = max((soak for _, soak in bad), key=lambda soak: soak.wrong.total)
            repetitions = _of_all({number for number, _ in bad}, drift)
            where = f"{path} at {format_size(size)}"
            yield f"wrong messages of {where}: {soaks.wrong_words(worst)} at most, in {repetitions}"


def held(drift: Drift) -> Iterator[str]:
    """'the clocks of GPU 0 were held back by its power cap in 12 of 30 repetitions, for 4.1 s in all'."""
    seen = [(number, throttled) for number, record in _records(drift) for throttled in record.throttled]
    several = health.several_hosts(throttled for _, throttled in seen)
    alike = grouped(((health.place(clock, several), clock.reason), (number, clock)) for number, clock in seen)
    for (place, reason), found in alike.items():
        seconds = sum(clock.seconds or 0.0 for _, clock in found)
        lasted = f", for {figures.ratio(seconds)} s in all" if seconds else ""
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"the clocks of {place} were held back by {reason} in {repetitions}{lasted}"


def _records(drift: Drift) -> Iterator[tuple[int, Health]]:
    """What was read of the hosts' health, with the number of the repetition."""
    return ((number, record) for number, run in enumerate(drift.runs) for record in run.health.values())


def _of_all(numbers: set[int], drift: Drift) -> str:
    return f"{len(numbers)} of {len(drift.runs)} repetitions"
