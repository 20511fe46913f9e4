"""A watched machine: a table that stays on a terminal, or lines; at the end what drifted, what went wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from wirespeed.grouping import grouped, size_range
from wirespeed.judge.verdict import BETTER
from wirespeed.report.cannot_tell import CANNOT_TELL, MAX_TIMES, is_missed, lines, slower
from wirespeed.report.compare.verdicts import (
    GAINED,
    UNNAMED,
    Verdicts,
    median_s,
    unsure,
)
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.console import say, sparkline
from wirespeed.report.console.status_line import Clock, StatusLine
from wirespeed.report.drift.detection import (
    AS_BEFORE,
    LATE,
    LATE_AMONG,
    Drift,
    drifted,
    unchanged,
    word,
)
from wirespeed.report.facts import figures, health, labels, soaks
from wirespeed.results.model import Health
from wirespeed.units import counted, duration, format_rate, format_seconds, format_size

SHOWN = 24
"""Repetitions in a curve."""
MAX_NAMED = 4

Key = tuple[str, int]
"""Path and bytes."""


class Watching:
    """Takes each repetition; used as a context."""

    def __init__(
        self, console: Console, drift: Drift, clock: Clock = time.monotonic, over: float = math.inf
    ) -> None:
        """`over`: when, by the clock, no further repetition starts."""
        self._console, self._drift, self._clock, self._over = console, drift, clock, over
        self._next: float | None = None
        self._live: Live | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(get_renderable=self._view, console=console, refresh_per_second=1)
        self._status_line = StatusLine(clock)

    def __enter__(self) -> Watching:
        self._live.start() if self._live else self._status_line.__enter__()
        self.waits(None)
        return self

    def __exit__(self, *_: object) -> None:
        self._next = None
        self._live.stop() if self._live else self._status_line.__exit__()

    def measured(self, verdicts: Verdicts) -> None:
        """A repetition is over."""
        if self._live:
            self._live.refresh()
        else:
            say(self._console, line(self._drift, verdicts))

    def waits(self, until: float | None) -> None:
        """The next one begins at this time of the clock; None: now."""
        self._next = until
        number = len(self._drift.runs) + 1
        if until is None:
            self._status_line.now(f"repetition {number} is measured")
        else:
            self._status_line.now(f"repetition {number} waits for its time", until - self._clock())

    def _view(self) -> Group:
        count, first = len(self._drift.runs), self._drift.first
        text = counted(count, "repetition")
        if count < first:
            text += f"; the first {first} show what is usual"
        if sick := sum(any(not health.good for health in run.health.values()) for run in self._drift.runs):
            text += f"; {sick} throttled or with new errors"
        if wrong := self._drift.wrong_messages:
            text += f"; {wrong:,} wrong messages"
        if self._next is not None:
            text += f"; next in {duration(max(0.0, self._next - self._clock()))}"
        if self._over < math.inf:
            text += f"; {duration(self._over - self._clock())} left"
        shown = _table(self._drift, self._console).fit(self._console.width)
        return Group(shown, Text(f"{text}; Ctrl-C ends it", style="dim"))


def line(drift: Drift, verdicts: Verdicts) -> str:
    """'12:00:07 repetition 8: 12 figures as in the first 5'."""
    count = len(drift.runs)
    run = drift.runs[-1]
    many = "figure" if len(run.entries) == 1 else "figures"
    start = f"{time.strftime('%H:%M:%S')} repetition {count}: {len(run.entries)} {many}"
    if lacking := sum(1 for _ in labels.failures([run])):
        start += f", {lacking} without one"
    if sick := [health.path for health in run.health.values() if not health.good]:
        start += f", throttled or with new errors: {' '.join(sick)}"
    if soaked := soaks.verdict(run):
        start += f", soak: {soaked[0]}"
    if count <= drift.first:
        return f"{start}; the first {drift.first} repetitions show what is usual"
    if drift.late:
        start += f", late now and then: {', '.join(path.path for path in drift.late)}"
    named = drifted(verdicts)
    untold = len(unsure(verdicts))
    if not named:
        if untold == len(verdicts.figures):
            return f"{start}, {CANNOT_TELL}"
        said = "as" if unchanged(verdicts.groups) == AS_BEFORE else "not slower than"
        return f"{start}, {said} in the first {drift.first}{f'; {CANNOT_TELL}: {untold}' if untold else ''}"
    told = [f"{verdict.where} {word(verdict)}" for verdict in named[:MAX_NAMED]]
    more = f", {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return f"{start}; time against the first {drift.first}: {', '.join(told)}{more}"


def _table(drift: Drift, console: Console) -> Table[Key]:
    verdicts = {(figure.key.path, figure.key.bytes): figure for figure in drift.verdicts.figures}
    latest = {key: [entry for entry in drift.history(key) if entry][-1] for key in drift.keys}

    def first(key: Key) -> str | None:
        early = [entry for entry in drift.history(key)[: drift.first] if entry]
        return format_seconds(median_s(early)) if early else None

    def rate(key: Key) -> str:
        return format_rate(latest[key].rate) if latest[key].amount else ""

    def curve(key: Key) -> str:
        seconds = [entry.seconds if entry else None for entry in drift.history(key)]
        known = [second for second in seconds if second is not None]
        return sparkline(seconds[-SHOWN:], min(known), max(known))

    def now(key: Key) -> Text:
        verdict = verdicts.get(key)
        if verdict is None:
            return Text()
        if verdict.what in (*UNNAMED, GAINED):
            return Text(word(verdict), "dim" if verdict.what == GAINED else verdict.style)
        return Text(word(verdict), "green" if verdict.what == BETTER else "red")

    columns: list[Column[Key]] = [
        Column("", lambda key: key[0], left=True),
        Column("size", lambda key: format_size(key[1]), gap=4),
        Column(f"first {drift.first}", first, gap=4),
        Column("latest", lambda key: format_seconds(latest[key].seconds), gap=4),
        Column("GB/s", rate, gap=4, drop=1),
        Column(f"time, last {SHOWN}", curve, style="cyan", gap=4, left=True, drop=2),
        Column("now", now, gap=4, left=True),
    ]
    return table(columns, drift.keys)


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

    def _change_of(row: PathSummary) -> Text:
        return Text(row.drift, "red" if row.harmful else "")

    def many_of(count: int | None, of: str = "") -> Text | None:
        return None if count is None else Text(f"{count}{of}", "red" if count else "")

    columns: list[Column[PathSummary]] = [
        Column("path", lambda row: row.path, left=True),
        Column(f"time against\nthe first {drift.first}", _change_of, gap=3, left=True),
    ]
    if "errors" not in unknown:
        columns.append(Column("new\nerrors", lambda row: many_of(row.errors), gap=3))
    if "throttled" not in unknown:
        of_all = f" of {many}"
        columns.append(Column("repetitions\nthrottled", lambda row: many_of(row.throttled, of_all), gap=3))
    console.print()
    console.print(Text(f"{counted(many, 'repetition')} in {duration(drift.lasted)}", "bold"))
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
    for (where, reason), found in alike.items():
        seconds = sum(clock.seconds or 0.0 for _, clock in found)
        lasted = f", for {figures.ratio(seconds)} s in all" if seconds else ""
        repetitions = _of_all({number for number, _ in found}, drift)
        yield f"the clocks of {where} were held back by {reason} in {repetitions}{lasted}"


def _records(drift: Drift) -> Iterator[tuple[int, Health]]:
    """What was read of the hosts' health, with the number of the repetition."""
    return ((number, record) for number, run in enumerate(drift.runs) for record in run.health.values())


def _of_all(numbers: set[int], drift: Drift) -> str:
    return f"{len(numbers)} of {len(drift.runs)} repetitions"
