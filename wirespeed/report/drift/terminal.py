"""View of a watched machine: a table that stays on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import time

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from wirespeed.judge.verdict import BETTER
from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.compare.verdicts import GAINED, UNNAMED, Verdicts, typical, unsure
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.console import say
from wirespeed.report.console.sparkline import sparkline
from wirespeed.report.console.status_line import Clock, StatusLine
from wirespeed.report.drift.detection import AS_BEFORE, Drift, drifted, place, unchanged, word
from wirespeed.report.facts import labels, soaks
from wirespeed.units import duration, format_rate, format_seconds, format_size

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
        text = f"{count} repetition{'s' if count != 1 else ''}"
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
    told = [f"{place(verdict)} {word(verdict)}" for verdict in named[:MAX_NAMED]]
    more = f", {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return f"{start}; time against the first {drift.first}: {', '.join(told)}{more}"


def _table(drift: Drift, console: Console) -> Table[Key]:
    verdicts = {(figure.key.path, figure.key.bytes): figure for figure in drift.verdicts.figures}
    latest = {key: [entry for entry in drift.history(key) if entry][-1] for key in drift.keys}

    def first(key: Key) -> str | None:
        early = [entry for entry in drift.history(key)[: drift.first] if entry]
        return format_seconds(typical(early)) if early else None

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
