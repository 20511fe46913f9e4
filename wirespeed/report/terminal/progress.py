"""What a person sees while it runs: a live view on a terminal, one line per finished entry elsewhere.

Everything goes to stderr. Nothing is printed before the first event, so ranks that see none print nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from wirespeed.report.facts import figures
from wirespeed.report.terminal.columns import Column, Table, table
from wirespeed.report.terminal.run_summary import make_console
from wirespeed.results.runs import Entry, Failure, Record
from wirespeed.units import format_rate, format_seconds, format_size

Clock = Callable[[], float]
BAR = 20
"""Letters of a whole bar."""
REFRESHES = 4
"""A second. Ranks may need every core; drawing takes a few milliseconds each time."""


class Progress:
    """Takes every event of a run. Used as a context: what it draws is gone when it ends."""

    def __call__(self, event: Record) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Takes away what was only for the time of the run."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def make_progress(paths: tuple[str, ...], sizes: int, stream: IO[str] | None = None) -> Progress:
    """The view that suits the stream (stderr if none is given) for `sizes` sizes on each path."""
    console = make_console(sys.stderr if stream is None else stream)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console, paths, sizes)
    return PlainProgress(console)


def entry_line(entry: Entry, path_width: int = 6) -> str:
    """'host    64 KiB   8.52 us   7.69 GB/s  ±0.4 %  120 samples'."""
    mark = "  (--max-time over)" if entry.stopped == "max-time" else ""
    figure = f"{format_rate(entry.rate):>6} GB/s" if entry.bytes else " " * 11
    return (
        f"{entry.path:<{path_width}}  {format_size(entry.bytes):>8}  {format_seconds(entry.seconds):>8}  "
        f"{figure}  {figures.spread(entry.precision):>7}  {entry.samples} samples{mark}"
    )


class PlainProgress(Progress):
    """One line for each finished entry, failure and note."""

    def __init__(self, console: Console) -> None:
        self._stream = console.file
        self._width = 6

    def __call__(self, event: Record) -> None:
        kind = event.get("kind")
        try:
            if kind == "entry":
                entry = Entry.from_record(event)
                self._width = max(self._width, len(entry.path))
                self._print(entry_line(entry, self._width))
            elif kind == "failure":
                failure = Failure.from_record(event)
                self._print(f"{figures.failure_head(failure)}: {figures.failure_text(failure)}")
            elif kind == "note":
                self._print(str(event.get("text", "")))
        except (KeyError, TypeError, ValueError):
            self._print("(an event that this version cannot show)")

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


@dataclass
class _PathProgress:
    """One path in the live view."""

    path: str
    of: int
    done: int = 0
    active: bool = False
    now: str = ""
    latest: Text = field(default_factory=lambda: Text("waiting", style="dim"))

    @property
    def bar(self) -> Text:
        full = BAR * min(self.done, self.of) // self.of
        return Text.assemble(("━" * full, "cyan"), ("─" * (BAR - full), "dim"))


class LiveProgress(Progress):
    """A row for each path, a bar, the latest figures, and the time that is left."""

    def __init__(
        self, console: Console, paths: tuple[str, ...], sizes: int, clock: Clock = time.monotonic
    ) -> None:
        self._console = console
        self._sizes = max(1, sizes)
        self._clock = clock
        self._started: float | None = None
        self._steps = max(1, len(paths))
        self._rows: dict[str, _PathProgress] = {}
        for path in paths:
            self._row(path)
        self._live: Live | None = None

    def __call__(self, event: Record) -> None:
        if self._live is None:
            self._started = self._clock()
            self._live = Live(
                get_renderable=self.render,
                console=self._console,
                transient=True,
                redirect_stdout=False,
                refresh_per_second=REFRESHES,
            )
            self._live.start()
        try:
            self._take(event)
        except (KeyError, TypeError, ValueError):
            self._console.print("(an event that this version cannot show)")

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _row(self, path: str) -> _PathProgress:
        return self._rows.setdefault(path, _PathProgress(path, self._sizes))

    def _take(self, event: Record) -> None:
        kind = event.get("kind")
        if kind == "step-start":
            self._steps = max(1, int(event["steps_total"]))
            for other in self._rows.values():
                other.active = False
            row = self._row(str(event["path"]))
            row.active, row.latest = True, Text("starting", style="dim")
        elif kind == "progress":
            row = self._row(str(event["path"]))
            row.active = True
            row.done, row.of = int(event["index"]), max(1, int(event["of"]))
            row.now = f"now {format_size(int(event['bytes']))}"
            if int(event.get("parts") or 1) > 1:
                row.now += f", {int(event.get('part') or 0) + 1} of {event['parts']}"
            if samples := event.get("samples"):
                row.now += f", {samples} samples"
            if (precision := event.get("precision")) is not None:
                row.now += f" {figures.spread(float(precision))}"
        elif kind == "entry":
            entry = Entry.from_record(event)
            row = self._row(entry.path)
            row.done = min(row.of, row.done + 1)
            row.now = ""
            figure = f"{format_rate(entry.rate):>6} GB/s" if entry.bytes else " " * 11
            time_taken = f"{format_seconds(entry.seconds):>8}"
            row.latest = Text(f"{format_size(entry.bytes):>7}  {time_taken}  {figure}")
        elif kind == "failure":
            failure = Failure.from_record(event)
            row = self._row(failure.path)
            row.now = ""
            style = "yellow" if failure.what == "unavailable" else "red"
            row.latest = Text(figures.WHAT.get(failure.what, failure.what), style=style)
            if failure.whole_path:
                row.done = row.of
        elif kind == "note":
            self._console.print(Text(str(event.get("text", "")), style="dim"))

    def remaining(self) -> float | None:
        """Seconds left, if the sizes to come take as long as those done did; None before there is a basis."""
        done = sum(row.done / row.of for row in self._rows.values())
        total = max(self._steps, len(self._rows))
        if self._started is None or done <= 0:
            return None
        return (self._clock() - self._started) / done * max(0.0, total - done)

    def render(self) -> Group:
        """The view as it stands."""
        width = self._console.width
        view = self._table(tight=False).fit(width)
        left = self.remaining()
        elapsed = 0.0 if self._started is None else self._clock() - self._started
        line = f"{figures.duration(elapsed)} so far"
        if left is not None:
            line += f", about {figures.duration(left)} left"
        return Group(
            view if view.width <= width else self._table(tight=True).fit(width), Text(line, style="dim")
        )

    def _table(self, *, tight: bool) -> Table[_PathProgress]:
        def latest(row: _PathProgress) -> Text:
            return Text(" ".join(row.latest.plain.split()), row.latest.style) if tight else row.latest

        columns: list[Column[_PathProgress]] = [
            Column("", lambda row: Text(row.path, "bold" if row.active else ""), left=True),
            Column("", lambda row: row.bar, gap=2, left=True, drop=2),
            Column("", lambda row: f"{row.done}/{row.of}", gap=2),
            Column("", latest, gap=2, left=True),
            Column("", lambda row: row.now, style="dim", gap=2, left=True, drop=1),
        ]
        return table(columns, list(self._rows.values()), ruled=False)
