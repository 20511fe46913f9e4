"""Progress of a run: a live view on a terminal, one line per finished entry elsewhere.

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

from wirespeed.job.messages import Note, Progress
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.console import make_console
from wirespeed.report.console.status_line import Clock, Teller
from wirespeed.report.facts import figures, soaks
from wirespeed.results.decoding import printable
from wirespeed.results.model import Event, Head, StepStart
from wirespeed.results.runs import IMPOSSIBLE, Entry, Failure
from wirespeed.results.soak import Soak
from wirespeed.statistics.stopping import INTERRUPTED
from wirespeed.units import counted, duration, format_rate, format_seconds, format_size, time_word

UNAVAILABLE = "unavailable"
BAR = 20
"""Letters of a whole bar."""
REFRESHES = 4
"""A second. Ranks may need every core; drawing takes a few milliseconds each time."""


class RunPlace:
    """How far a run is: its path, the time so far, and the bound on the whole command."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start: float | None = None
        self.bound = 0.0
        """Seconds; 0: none."""
        self.step: StepStart | None = None

    def begin(self) -> None:
        """The first event is here; further calls do nothing."""
        if self._start is None:
            self._start = self._clock()

    def __str__(self) -> str:
        """'path 3 of 9, 0:12 so far, --within 1m'."""
        spent = 0.0 if self._start is None else self._clock() - self._start
        parts = [f"{duration(spent)} so far"]
        if step := self.step:
            place = f"{step.done + 1} of {step.total}"
            launch = f"launch {step.launch} of {step.launches}, step {place}"
            parts.insert(0, launch if step.launches > 1 else f"path {place}")
        if self.bound:
            parts.append(f"--within {time_word(self.bound)}")
        return ", ".join(parts)


class ProgressLines:
    """Takes every event of a run and prints a line for each finished entry, failure and note.

    After a silence it says what is under way. Used as a context: what it draws is gone when it ends.
    """

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        self._console = console
        self._width = 6
        self._place = RunPlace(clock)
        self._under_way, self._has_figure = "", False
        self._lacks: dict[str, list[str]] = {}
        """Paths that are not available, by why; one line tells alike ones."""
        self._teller = Teller(self._now, self.note, clock)

    def __call__(self, event: Event) -> None:
        self._place.begin()
        if not (isinstance(event, Failure) and event.what == UNAVAILABLE):
            self._tell_lacks()
        match event:
            case Head():
                self._place.bound = event.plan.budget
            case Entry():
                self._has_figure = True
            case Note():
                self.note(printable(event.text))
            case StepStart():
                self._place.step = event
                self._under_way = f"{event.path}: ranks start"
            case Progress():
                self._under_way = _under_way(event)
        self.tell(event)
        if isinstance(event, Progress) and event.seconds and not self._has_figure:
            # Sizes take turns, so that the first ones are done when all nearly are.
            self._has_figure = True
            if text := self._now():
                self.note(text)

    def tell(self, event: Event) -> None:
        """'host  64 KiB  8.52 us  7.69 GB/s  ±0.4 %  120 samples  [path 1 of 3, ..., --within 1m]'.

        Or 'host  64 KiB  1,200,000 messages checked, wrong: none  [...]', or 'aware at 64 KiB: hung: ...'.
        What is not available is told with the next event of another kind.
        """
        match event:
            case Entry():
                self._width = max(self._width, len(event.path))
                words = f"{format_size(event.bytes):>8}  {IMPOSSIBLE}: {event.why_impossible}"
                if not event.impossible:
                    over = {"max-time": "  (--max-time over)", INTERRUPTED: f"  ({INTERRUPTED})"}
                    words = f"{_figure(event, 8)}  {figures.spread(event.precision):>7}  "
                    words += counted(event.samples, "sample") + over.get(event.stopped, "")
                    words += "  (ranks waited for CPUs)" if event.contended else ""
                self.note(f"{event.path:<{self._width}}  {words}  [{self._place}]")
            case Soak():
                checked = f"{event.messages:,} messages checked, wrong: {soaks.wrong_words(event)}"
                where = f"{event.path:<{self._width}}  {format_size(event.bytes):>8}"
                self.note(f"{where}  {event.elapsed_s:4.0f} s  {checked}  [{self._place}]")
            case Failure():
                head, text = figures.failure_head(event), figures.failure_text(event)
                if event.what == UNAVAILABLE:
                    self._lacks.setdefault(text, []).append(head)
                else:
                    self.note(f"{head}: {text}")

    def _tell_lacks(self) -> None:
        for text, heads in self._lacks.items():
            self.note(f"{', '.join(heads)}: {text}")
        self._lacks.clear()

    def note(self, text: str) -> None:
        """A line of its own, in one write: other processes may write there, too."""
        self._teller.told()
        self._console.file.write(f"{text}\n")
        self._console.file.flush()

    def speak(self) -> None:
        """Says what is under way, if nothing has been said for a while."""
        self._teller.speak()

    def _now(self) -> str:
        return f"{self._under_way}  [{self._place}]" if self._under_way else ""

    def close(self) -> None:
        """Takes away what was only for the time of the run."""

    def __enter__(self) -> ProgressLines:
        self._teller.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._teller.__exit__()
        self._tell_lacks()
        self.close()


def _under_way(event: Progress) -> str:
    """'host  64 KiB: 8.52 us so far, 120 samples', or what else is done there."""
    so_far = f"{format_seconds(event.seconds)} so far, " if event.seconds else ""
    what = event.doing or (so_far + counted(event.samples, "sample") if event.samples else "begins")
    return f"{event.path}  {format_size(event.bytes)}: {what}"


def _figure(entry: Entry, width: int) -> str:
    rate = f"{format_rate(entry.rate):>6} GB/s" if entry.amount else " " * 11
    return f"{format_size(entry.bytes):>{width}}  {figures.time_of(entry, entry.seconds):>8}  {rate}"


def make_progress(paths: tuple[str, ...], stream: IO[str] | None = None) -> ProgressLines:
    """The view of these paths that suits the stream (stderr if none is given)."""
    console = make_console(sys.stderr if stream is None else stream)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console, paths)
    return ProgressLines(console)


@dataclass
class _PathProgress:
    """One path in the live view."""

    path: str
    of: int
    launch: int = 0
    sizes: set[int] = field(default_factory=set)
    """Sizes that are done in this launch."""
    before: int = 0
    """Number of sizes done when the latest processes began."""
    over: bool = False
    """Will no other size be measured?"""
    active: bool = False
    now: str = ""
    latest: Text = field(default_factory=lambda: Text("waiting", style="dim"))

    @property
    def done(self) -> int:
        return self.of if self.over else min(self.of, len(self.sizes))

    @property
    def bar(self) -> Text:
        full = BAR * self.done // self.of
        return Text.assemble(("━" * full, "cyan"), ("─" * (BAR - full), "dim"))


class LiveProgress(ProgressLines):
    """A row for each path, a bar, the latest figures, and the time that is left."""

    def __init__(self, console: Console, paths: tuple[str, ...], clock: Clock = time.monotonic) -> None:
        super().__init__(console, clock)
        self._sizes = 1
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

    def _now(self) -> str:
        """The view itself says what is under way."""
        return ""

    def _row(self, path: str) -> _PathProgress:
        return self._rows.setdefault(path, _PathProgress(path, self._sizes))

    def tell(self, event: Event) -> None:
        """Shows it in the path's row."""
        match event:
            case Head():
                self._sizes = max(1, len(event.plan.sizes))
                for row in self._rows.values():
                    row.of = self._sizes
            case StepStart():
                self._begin(self._row(event.path), event.launch)
            case Progress():
                self._go_on(self._row(event.path), event)
            case Entry():
                row = self._row(event.path)
                row.sizes.add(event.bytes)
                row.now = ""
                row.latest = Text(IMPOSSIBLE, "red") if event.impossible else Text(_figure(event, 7))
            case Soak():
                row, wrong = self._row(event.path), event.wrong.total
                row.latest = Text(f"{event.messages:,} messages, {wrong:,} wrong", "red" if wrong else "")
                if event.complete:
                    row.sizes.add(event.bytes)
                    row.now = ""
            case Failure():
                row, style = self._row(event.path), "yellow" if event.what == UNAVAILABLE else "red"
                row.now, row.latest = "", Text(figures.WHAT.get(event.what, event.what), style)
                if event.bytes is not None:
                    row.sizes.add(event.bytes)
                # Under another MPI it begins anew.
                row.over = event.whole_path and not figures.other_mpi(event)

    def _begin(self, begun: _PathProgress, launch: int) -> None:
        """Marks the path as the active one; another launch of it begins at its first size."""
        for row in self._rows.values():
            row.active = row is begun
        if begun.launch != launch:
            begun.launch, begun.sizes, begun.over, begun.of = launch, set(), False, self._sizes
        begun.before, begun.latest = len(begun.sizes), Text("starting", style="dim")

    def _go_on(self, row: _PathProgress, event: Progress) -> None:
        """Shows the size that is being measured, its samples, and how precise they are."""
        row.active = True
        # With --resume there are fewer sizes; in new processes, after a hang, those that are left.
        row.of = max(1, row.before + event.of)
        row.now = f"now {format_size(event.bytes)}"
        if event.phases > 1:
            row.now += f", {event.phase + 1} of {event.phases}"
        if event.samples:
            row.now += f", {format_seconds(event.seconds)}" if event.seconds else ""
            row.now += f", {event.samples} samples"
        row.now = event.doing or row.now
        if event.precision is not None:
            row.now += f" {figures.spread(event.precision)}"

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
        return Group(view, Text(str(self._place), style="dim"))


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
