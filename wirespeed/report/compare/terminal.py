"""A comparison on a terminal: what differs, what that did, path by path, and the worst figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wirespeed.report.compare.environment import Difference
from wirespeed.report.compare.matching import Key
from wirespeed.report.compare.verdicts import (
    BETTER,
    FAILING,
    GAINED,
    HARM,
    LOST,
    SAME,
    UNSURE,
    WORSE,
    Verdict,
)
from wirespeed.report.facts import figures
from wirespeed.report.terminal.size_table import GAP, add_columns, fits, new_table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.statistics.comparison import FALSE_ALARMS
from wirespeed.units import format_rate, format_seconds, format_size

MOST_ROWS = 20
MOST_OF_A_TOPIC = 6
ENOUGH_LAUNCHES = 3
STYLE = {
    LOST: "bold red",
    FAILING: "bold red",
    WORSE: "red",
    BETTER: "green",
    GAINED: "green",
    UNSURE: "yellow",
    SAME: "dim",
}
SAYS = {
    LOST: "no figure any more",
    FAILING: "fails at times",
    WORSE: "worse",
    UNSURE: "cannot tell",
    SAME: "no change seen",
    BETTER: "better",
    GAINED: "a figure now",
}


@dataclass(frozen=True)
class Comparison:
    """All that there is to say about two sides."""

    old: str
    new: str
    verdicts: list[Verdict]
    """The most harmful first."""
    differences: list[Difference] = field(default_factory=list)
    only_old: list[Key] = field(default_factory=list)
    only_new: list[Key] = field(default_factory=list)
    spread: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def harmful(self) -> bool:
        return any(verdict.harmful for verdict in self.verdicts)

    @property
    def launches(self) -> tuple[int, int]:
        """The fewest on each side."""
        counts = [verdict.change.launches for verdict in self.verdicts if verdict.change]
        return min((old for old, _ in counts), default=0), min((new for _, new in counts), default=0)


def print_comparison(console: Console, comparison: Comparison, *, everything: bool = False) -> None:
    """Causes first, then paths, then figures, the worst first."""
    title = Text("old ", style="dim") + Text(comparison.old) + Text("   new ", style="dim")
    say(console, title + Text(comparison.new))
    for note in comparison.notes:
        say(console, Text(note, style="dim"))
    if not comparison.notes:
        _print_differences(console, comparison.differences)
    console.print()
    for line in summary(comparison.verdicts):
        say(console, line)
    rows = [one for one in comparison.verdicts if everything or one.what != SAME]
    if rows:
        console.print()
        shown = rows[: None if everything else MOST_ROWS]
        wide = _table(shown, rates=True)
        table = wide if fits(console, wide) else _table(shown, rates=False)
        console.print(table, crop=False, no_wrap=True)
    if not everything and len(rows) > MOST_ROWS:
        say(console, Text(f"{len(rows) - MOST_ROWS} more with --all", style="dim"))
    for text in _failures(rows):
        say(console, Text(text, style="dim"))
    console.print()
    for text in _alone(comparison):
        say(console, Text(text, style="yellow"))
    for text in legend(comparison):
        say(console, Text(text, style="dim"))


def _print_differences(console: Console, found: Sequence[Difference]) -> None:
    console.print()
    if not found:
        say(console, Text("Nothing that is on record differs besides the figures."))
        return
    console.print(Text("What differs besides the figures", style="bold"))
    for topic in dict.fromkeys(one.topic for one in found):
        lines = [one.text for one in found if one.topic == topic]
        for line in lines[:MOST_OF_A_TOPIC]:
            say(console, Text(line), indent=4)
        if len(lines) > MOST_OF_A_TOPIC:
            say(console, Text(f"{len(lines) - MOST_OF_A_TOPIC} more of this kind: --format json has them"))


def summary(verdicts: Sequence[Verdict]) -> list[Text]:
    """A line for each path: 'aware: 15 of 28 sizes worse, 64 KiB to 1 GiB, at most x 1.09'."""
    curves: dict[Key, list[Verdict]] = {}
    for verdict in sorted(verdicts, key=lambda one: one.key):
        curves.setdefault(verdict.key.series, []).append(verdict)
    lines = []
    for key, found in curves.items():
        line = Text(f"{series_name(key)}: ", style="bold")
        parts = []
        for what in HARM:
            these = [one for one in found if one.what == what]
            if these:
                parts.append(Text(_counted(what, these, len(found)), style=STYLE[what]))
        lines.append(line + Text("; ").join(parts))
    return lines


def _counted(what: str, these: Sequence[Verdict], all_sizes: int) -> str:
    sizes = [one.key.bytes for one in these]
    if len(these) == all_sizes:
        text = f"{SAYS[what]} at {'all ' if all_sizes > 1 else ''}{size_range(sizes)}"
    else:
        text = f"{SAYS[what]} at {len(these)} of {all_sizes} sizes, {size_range(sizes)}"
    ratios = [one.change.ratio for one in these if one.change]
    if what in (WORSE, BETTER) and ratios:
        end = max(ratios) if what == WORSE else min(ratios)
        text += f", time up to x {factor(end)}" if what == WORSE else f", time down to x {factor(end)}"
    return text


def size_range(sizes: Sequence[int]) -> str:
    """'8 B', '8 B to 1 GiB'."""
    first, last = min(sizes), max(sizes)
    return format_size(first) if first == last else f"{format_size(first)} to {format_size(last)}"


def series_name(key: Key) -> str:
    """'pingpong aware', with the pattern's options where they are not the usual ones."""
    return f"{key.pattern} {key.path}" + (f" ({key.words})" if key.words else "")


def factor(ratio: float) -> str:
    """Two digits of what differs from 1: '1.052', '1.4', '0.948'."""
    off = abs(ratio - 1)
    digits = 3 if off < 0.1 else 2
    return f"{ratio:.{digits}f}"


def _table(rows: Iterable[Verdict], *, rates: bool) -> Table:
    table = new_table()
    rate = ["GB/s"] if rates else []
    heads = [f"{GAP}size", f"{GAP}old", *rate, f"{GAP}new", *rate, f"{GAP}time x", f"{GAP}95 %"]
    table.add_column("", no_wrap=True)
    add_columns(table, heads)
    table.add_column(f"{GAP}verdict", no_wrap=True)
    for one in rows:
        interval = ratio = Text("-", style="dim")
        if one.change:
            low, high = one.change.interval()
            interval = Text(f"{GAP}{factor(low)} to {factor(high)}", style="dim")
            ratio = Text(factor(one.change.ratio), style=STYLE[one.what])
        table.add_row(
            Text(series_name(one.key)),
            Text(f"{GAP}{format_size(one.key.bytes)}"),
            *_figure(one.old_s, one.amount, rates=rates),
            *_figure(one.new_s, one.amount, rates=rates),
            ratio,
            interval,
            Text(GAP + SAYS[one.what], style=STYLE[one.what]),
        )
    return table


def _figure(seconds: float | None, amount: int, *, rates: bool) -> list[Text]:
    """The cells of one side."""
    if seconds is None:
        return [Text("-", style="dim")] * (2 if rates else 1)
    rate = f"  {format_rate(amount / seconds)}" if amount else ""
    return [Text(f"{GAP}{format_seconds(seconds)}"), *([Text(rate)] if rates else [])]


def _failures(rows: Iterable[Verdict]) -> list[str]:
    """What went wrong, once for all the sizes that it cost."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in rows:
        if one.failure:
            found.setdefault((one.key.path, figures.failure_text(one.failure)), []).append(one.key.bytes)
    return [f"{path} at {size_range(sizes)}: {text}" for (path, text), sizes in found.items()]


def _alone(comparison: Comparison) -> list[str]:
    lines = []
    for side, keys in (("old", comparison.only_old), ("new", comparison.only_new)):
        curves: dict[Key, list[int]] = {}
        for key in keys:
            curves.setdefault(key.series, []).append(key.bytes)
        what = [f"{series_name(series)} at {size_range(sizes)}" for series, sizes in curves.items()]
        if what:
            lines.append(f"Only in {side}, so not compared: {'; '.join(what)}")
    return lines


def legend(comparison: Comparison) -> list[str]:
    """How the verdicts came about."""
    old, new = comparison.launches
    if not (old and new):
        return []
    share = figures.percent(FALSE_ALARMS)
    lines = [
        f"time x: new time / old time, above 1 is slower; launches of each figure: {old} old, {new} new",
        f"worse, better: more than chance, {share} for all {len(comparison.verdicts)} figures together "
        "(Benjamini-Hochberg)",
    ]
    if min(old, new) < ENOUGH_LAUNCHES:
        least = math.expm1(smallest(comparison.verdicts))
        lines.append(
            f"with so few launches they are taken to differ by {figures.percent(comparison.spread)} "
            f"(--spread) by themselves: no change of a single figure below {figures.percent(least)} "
            f"can be told; {ENOUGH_LAUNCHES} launches a side or more tell more: 'wirespeed watch' makes them"
        )
    return lines


def smallest(verdicts: Sequence[Verdict]) -> float:
    """The logarithm of the least change that the surest figure could show."""
    halves = [math.log(one.change.interval()[1]) - one.change.log_ratio for one in verdicts if one.change]
    return min(halves, default=0.0)
