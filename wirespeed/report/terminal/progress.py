"""What a person sees while it runs: a live view on a terminal, one line per finished entry elsewhere.

Everything goes to stderr. Nothing is printed before the first event, so ranks that see none print nothing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import IO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from wirespeed.job.messages import Message
from wirespeed.report.facts import figures
from wirespeed.report.terminal.columns import Column, Table, table
from wirespeed.report.terminal.run_summary import make_console
from wirespeed.report.terminal.time_left import Clock, TimeLeft
from wirespeed.results.model import Event
from wirespeed.results.runs import Entry, Failure
from wirespeed.units import format_rate, format_size

BAR = 20
"""Letters of a whole bar."""
REFRESHES = 4
"""A second. Ranks may need every core; drawing takes a few milliseconds each time."""


class Progress:
    """Takes every event of a run and prints a line for each finished entry, failure and note.

    Used as a context: what it draws is gone when it ends.
    """

    def __init__(self, console: Console, sizes: int = 1, clock: Clock = time.monotonic) -> None:
        self._console = console
        self._width = 6
        self._time = TimeLeft(sizes, clock)

    def __call__(self, event: Event) -> None:
        self._time.begin()
        try:
            match event:
                case Entry():
                    self._time.size_done()
                    self.entry(event)
                case Failure():
                    if event.whole_path:
                        self._time.step_failed()
                    else:
                        self._time.size_done()
                    self.failure(event)
                case {"kind": "note", "text": text}:
                    self.note(str(text))
                case dict() if event.get("kind") == "step-start":
                    path = event["path"]
                    self._time.step(event)
                    self.step(str(path))
                case dict() if event.get("kind") == "progress":
                    self._time.size(event)
                    self.progress(str(event["path"]), event)
        except (KeyError, TypeError, ValueError):
            self.note("(an event that this version cannot show)")

    def entry(self, entry: Entry) -> None:
        """'host  64 KiB  8.52 us  7.69 GB/s  ±0.4 %  120 samples  [path 1 of 3, ..., about 0:40 left]'."""
        self._width = max(self._width, len(entry.path))
        over = "  (--max-time over)" if entry.stopped == "max-time" else ""
        over += "  (ranks waited for CPUs)" if entry.contended else ""
        self.note(
            f"{entry.path:<{self._width}}  {_figure(entry, 8)}  {figures.spread(entry.precision):>7}  "
            f"{entry.samples} samples{over}  [{self._time}]"
        )

    def failure(self, failure: Failure) -> None:
        """'aware at 64 KiB: hung: ...'."""
        self.note(f"{figures.failure_head(failure)}: {figures.failure_text(failure)}")

    def note(self, text: str) -> None:
        """A line of its own."""
        print(text, file=self._console.file, flush=True)

    def step(self, path: str) -> None:
        """A path begins."""

    def progress(self, path: str, event: Message) -> None:
        """A path goes on."""

    def close(self) -> None:
        """Takes away what was only for the time of the run."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _figure(entry: Entry, width: int) -> str:
    rate = f"{format_rate(entry.rate):>6} GB/s" if entry.amount else " " * 11
    return f"{format_size(entry.bytes):>{width}}  {figures.time_of(entry, entry.seconds):>8}  {rate}"


def make_progress(paths: tuple[str, ...], sizes: int, stream: IO[str] | None = None) -> Progress:
    """The view that suits the stream (stderr if none is given) for `sizes` sizes on each path."""
    console = make_console(sys.stderr if stream is None else stream)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console, paths, sizes)
    return Progress(console, sizes)


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
        super().__init__(console, sizes, clock)
        self._sizes = max(1, sizes)
        self._drawn = False
        self._rows = {path: _PathProgress(path, self._sizes) for path in paths}
        self._live = Live(
            get_renderable=self.render,
            console=console,
            transient=True,
            redirect_stdout=False,
            refresh_per_second=REFRESHES,
        )

    def __call__(self, event: Event) -> None:
        if not self._drawn:
            self._drawn = True
            self._live.start()
        super().__call__(event)

    def close(self) -> None:
        """Takes the view away."""
        self._live.stop()

    def _row(self, path: str) -> _PathProgress:
        return self._rows.setdefault(path, _PathProgress(path, self._sizes))

    def step(self, path: str) -> None:
        """Marks the path as the active one."""
        for row in self._rows.values():
            row.active = False
        row = self._row(path)
        row.active, row.done, row.latest = True, 0, Text("starting", style="dim")

    def progress(self, path: str, event: Message) -> None:
        """Shows the size that is being measured, its samples, and how precise they are."""
        row = self._row(path)
        row.active, row.done, row.of = True, int(event["index"]), max(1, int(event["of"]))
        row.now = f"now {format_size(int(event['bytes']))}"
        if int(event.get("phases") or 1) > 1:
            row.now += f", {int(event.get('phase') or 0) + 1} of {event['phases']}"
        if samples := event.get("samples"):
            row.now += f", {samples} samples"
        if doing := event.get("doing"):
            row.now = str(doing)
        if (precision := event.get("precision")) is not None:
            row.now += f" {figures.spread(float(precision))}"

    def entry(self, entry: Entry) -> None:
        """Shows the path's latest figures."""
        row = self._row(entry.path)
        row.done, row.now, row.latest = min(row.of, row.done + 1), "", Text(_figure(entry, 7))

    def failure(self, failure: Failure) -> None:
        """Shows what happened in place of the figures."""
        row, style = self._row(failure.path), "yellow" if failure.what == "unavailable" else "red"
        row.now, row.latest = "", Text(figures.WHAT.get(failure.what, failure.what), style)
        row.done = row.of if failure.whole_path else row.done

    def note(self, text: str) -> None:
        """A line above the view."""
        self._console.print(Text(text, style="dim"))

    def render(self) -> Group:
        """The view as it stands."""
        width = self._console.width
        for tight in (False, True):
            view = _view(list(self._rows.values()), tight=tight).fit(width)
            if view.width <= width:
                break
        return Group(view, Text(str(self._time), style="dim"))


def _view(rows: list[_PathProgress], *, tight: bool) -> Table[_PathProgress]:
    def latest(row: _PathProgress) -> Text:
        return Text(" ".join(row.latest.plain.split()), row.latest.style) if tight else row.latest

    columns: list[Column[_PathProgress]] = [
        Column("", lambda row: Text(row.path, "bold" if row.active else ""), left=True),
        Column("", lambda row: row.bar, gap=2, left=True, drop=2),
        Column("", lambda row: f"{row.done}/{row.of}", gap=2),
        Column("", latest, gap=2, left=True),
        Column("", lambda row: row.now, style="dim", gap=2, left=True, drop=1),
    ]
    return table(columns, rows, ruled=False)
