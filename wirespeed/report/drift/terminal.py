"""What a person sees of a watched machine: a table that stays on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from wirespeed.report.compare.verdicts import BETTER, Verdict, typical
from wirespeed.report.drift.detection import Drift, drifted, word
from wirespeed.report.export import labels
from wirespeed.report.facts import figures
from wirespeed.report.terminal.run_summary import sparkline
from wirespeed.report.terminal.size_table import GAP, add_columns, new_table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Entry
from wirespeed.units import format_rate, format_seconds, format_size

SHOWN = 24
"""Repetitions in a curve."""
MOST_NAMED = 4

Clock = Callable[[], float]


class Watching:
    """Takes each repetition; used as a context."""

    def __init__(self, console: Console, drift: Drift, clock: Clock = time.monotonic) -> None:
        self._console, self._drift, self._clock = console, drift, clock
        self._next: float | None = None
        self._live: Live | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(
                get_renderable=self._view, console=console, refresh_per_second=1, transient=False
            )

    def __enter__(self) -> Watching:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._next = None
        if self._live:
            self._live.stop()

    def measured(self, verdicts: Sequence[Verdict]) -> None:
        """A repetition is over."""
        if self._live:
            self._live.refresh()
        else:
            say(self._console, Text(line(self._drift, verdicts)))

    def waits(self, until: float | None) -> None:
        """The next one begins at this time of the clock; None: now."""
        self._next = until

    def _view(self) -> RenderableType:
        return Group(_table(self._drift, self._console), Text(self._state(), style="dim"))

    def _state(self) -> str:
        count = len(self._drift.runs)
        text = f"{count} repetition{'s' if count != 1 else ''}"
        if count < self._drift.first:
            text += f"; the first {self._drift.first} say what is usual"
        if self._next is not None:
            text += f"; next in {figures.duration(max(0.0, self._next - self._clock()))}"
        return f"{text}; Ctrl-C ends it"


def line(drift: Drift, verdicts: Sequence[Verdict]) -> str:
    """'12:00:07 repetition 8: 12 figures as in the first 5'."""
    count = len(drift.runs)
    run = drift.runs[-1]
    many = "figure" if len(run.entries) == 1 else "figures"
    start = f"{time.strftime('%H:%M:%S')} repetition {count}: {len(run.entries)} {many}"
    if lacking := sum(1 for _ in labels.failures([run])):
        start += f", {lacking} without one"
    if count <= drift.first:
        return f"{start}, one of the first {drift.first} that say what is usual"
    named = drifted(list(verdicts))
    if not named:
        return f"{start}, as in the first {drift.first}"
    told = [f"{one.key.path} {format_size(one.key.bytes)} {word(one)}" for one in named[:MOST_NAMED]]
    more = f", {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"{start}; time against the first {drift.first}: {', '.join(told)}{more}"


def _table(drift: Drift, console: Console) -> RenderableType:
    table = new_table()
    table.add_column("", no_wrap=True)
    add_columns(table, [f"{GAP}size", f"{GAP}first {drift.first}", f"{GAP}latest", f"{GAP}GB/s"])
    table.add_column(f"{GAP}time, last {SHOWN}", no_wrap=True)
    table.add_column(f"{GAP}now", no_wrap=True)
    marks = "_.:-=+*#" if console.options.ascii_only else "▁▂▃▄▅▆▇█"
    verdicts = {(one.key.path, one.key.bytes): one for one in drift.verdicts}
    for path, size in drift.keys:
        entries = [entry for run in drift.runs if (entry := run.entries.get((path, size)))]
        known = [entry.seconds for entry in entries]
        curve = sparkline(drift.history(path, size)[-SHOWN:], min(known), max(known), marks)
        verdict = verdicts.get((path, size))
        table.add_row(
            Text(path),
            Text(f"{GAP}{format_size(size)}"),
            Text(f"{GAP}{_first(drift, path, size)}"),
            Text(f"{GAP}{format_seconds(entries[-1].seconds)}"),
            Text(f"{GAP}{format_rate(entries[-1].rate)}" if entries[-1].amount else ""),
            Text(f"{GAP}{curve}", style="cyan"),
            Text(f"{GAP}{word(verdict)}" if verdict else "", style=_style(verdict)),
        )
    return table


def _first(drift: Drift, path: str, size: int) -> str:
    early: list[Entry] = [
        entry for run in drift.runs[: drift.first] if (entry := run.entries.get((path, size)))
    ]
    return format_seconds(typical(early)) if early else "-"


def _style(verdict: Verdict | None) -> str:
    if verdict is None or not drifted([verdict]):
        return "dim"
    return "green" if verdict.what == BETTER else "red"
