"""What a person sees while it runs: a live view on a terminal, one line a finished entry elsewhere.

Everything here goes to stderr; nothing before the first event, so that ranks that see none stay silent.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from wirespeed.report.facts import figures
from wirespeed.report.terminal.run_summary import make_console
from wirespeed.report.terminal.size_table import fits
from wirespeed.results.model import Event
from wirespeed.results.runs import Entry, Failure
from wirespeed.units import format_rate, format_seconds, format_size

Clock = Callable[[], float]
BAR = 20
"""Letters of a whole bar."""
REFRESHES = 4
"""A second. Ranks may need every core; drawing takes a few milliseconds each time."""


class Progress:
    """Takes every event of a run. Used as a context: what it draws is gone when it ends."""

    def __call__(self, event: Event) -> None:
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

    def __call__(self, event: Event) -> None:
        match event:
            case Entry():
                self._width = max(self._width, len(event.path))
                self._print(entry_line(event, self._width))
            case Failure():
                self._print(f"{figures.failure_head(event)}: {figures.failure_text(event)}")
            case {"kind": "note", "text": text}:
                self._print(str(text))

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class _Row:
    """One path in the live view."""

    def __init__(self) -> None:
        self.done = 0
        self.of = 0
        self.active = False
        self.now = ""
        self.latest = Text("waiting", style="dim")


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
        self._rows: dict[str, _Row] = {}
        for path in paths:
            self._row(path)
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
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

    def _row(self, path: str) -> _Row:
        if path not in self._rows:
            self._rows[path] = _Row()
            self._rows[path].of = self._sizes
        return self._rows[path]

    def _take(self, event: Event) -> None:
        match event:
            case dict() if event.get("kind") == "step-start":
                self._steps = max(1, int(event["steps_total"]))
                for other in self._rows.values():
                    other.active = False
                row = self._row(str(event["path"]))
                row.active, row.latest = True, Text("starting", style="dim")
            case dict() if event.get("kind") == "progress":
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
            case Entry():
                row = self._row(event.path)
                row.done = min(row.of, row.done + 1)
                row.now = ""
                figure = f"{format_rate(event.rate):>6} GB/s" if event.bytes else " " * 11
                time_taken = f"{format_seconds(event.seconds):>8}"
                row.latest = Text(f"{format_size(event.bytes):>7}  {time_taken}  {figure}")
            case Failure():
                row = self._row(event.path)
                row.now = ""
                style = "yellow" if event.what == "unavailable" else "red"
                row.latest = Text(figures.WHAT.get(event.what, event.what), style=style)
                if event.whole_path:
                    row.done = row.of
            case {"kind": "note", "text": text}:
                self._console.print(Text(str(text), style="dim"))

    def remaining(self) -> float | None:
        """Seconds left, if the sizes to come take as long as those done did; None before there is a basis."""
        done = sum(row.done / row.of for row in self._rows.values())
        total = max(self._steps, len(self._rows))
        if self._started is None or done <= 0:
            return None
        return (self._clock() - self._started) / done * max(0.0, total - done)

    def render(self) -> Table:
        """The view as it stands."""
        for bar, now in ((True, True), (False, True), (False, False)):
            grid = self._grid(bar=bar, now=now)
            if fits(self._console, grid):
                break
        left = self.remaining()
        elapsed = 0.0 if self._started is None else self._clock() - self._started
        line = f"{figures.duration(elapsed)} so far"
        if left is not None:
            line += f", about {figures.duration(left)} left"
        frame = Table.grid()
        frame.add_row(grid)
        frame.add_row(Text(line, style="dim"))
        return frame

    def _grid(self, *, bar: bool, now: bool) -> Table:
        grid = Table.grid(padding=(0, 2, 0, 0))
        for justify in ("left", *(["left"] if bar else []), "right", "left", *(["left"] if now else [])):
            grid.add_column(justify=justify, no_wrap=True)  # type: ignore[arg-type]
        for path, row in self._rows.items():
            cells = [Text(path, style="bold" if row.active else "")]
            if bar:
                full = BAR * min(row.done, row.of) // row.of
                cells.append(Text.assemble(("━" * full, "cyan"), ("─" * (BAR - full), "dim")))
            latest = row.latest if now else Text(" ".join(row.latest.plain.split()), style=row.latest.style)
            cells += [Text(f"{row.done}/{row.of}"), latest]
            if now:
                cells.append(Text(row.now, style="dim"))
            grid.add_row(*cells)
        return grid
