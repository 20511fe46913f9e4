"""A comparison on a terminal: what changed, path by path, what differs besides, and the worst figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.compare.comparison import Comparison
from wirespeed.report.compare.environment import Difference
from wirespeed.report.compare.verdicts import BETTER, SAME, SAYS, UNSURE, WORSE, FigureVerdict
from wirespeed.report.facts import figures
from wirespeed.report.grouping import grouped
from wirespeed.report.terminal.columns import Column, Table, table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.statistics.comparison import FALSE_ALARMS
from wirespeed.units import format_rate, format_seconds, format_size

MOST_ROWS = 20
MOST_OF_A_TOPIC = 6
ENOUGH_LAUNCHES = 3


def print_comparison(console: Console, comparison: Comparison, *, everything: bool = False) -> None:
    """Paths first, then causes, then figures, the worst first."""
    say(console, Text.assemble(("old ", "dim"), comparison.old, ("   new ", "dim"), comparison.new))
    for note in comparison.notes:
        say(console, note, "dim")
    console.print()
    for line in summary(comparison.verdicts):
        say(console, line)
    if not comparison.notes:
        _print_differences(console, comparison.differences)
    rows = [one for one in comparison.verdicts if everything or one.what != SAME]
    if rows:
        console.print()
        shown = rows[: None if everything else MOST_ROWS]
        console.print(_table(shown).fit(console.width), crop=False)
    if not everything and len(rows) > MOST_ROWS:
        say(console, f"{len(rows) - MOST_ROWS} more with --all", "dim")
    for text in _failures(rows):
        say(console, text, "dim")
    console.print()
    for text in _alone(comparison):
        say(console, text, "yellow")
    for text in legend(comparison):
        say(console, text, "dim")


def _print_differences(console: Console, found: Sequence[Difference]) -> None:
    console.print()
    if not found:
        say(console, "Nothing that is on record differs besides the figures.")
        return
    console.print(Text("What differs besides the figures", style="bold"))
    for topic in dict.fromkeys(one.topic for one in found):
        lines = [one.text for one in found if one.topic == topic]
        for line in lines[:MOST_OF_A_TOPIC]:
            say(console, line, indent=4)
        if len(lines) > MOST_OF_A_TOPIC:
            say(console, f"{len(lines) - MOST_OF_A_TOPIC} more of this kind: --format json has them")


def summary(verdicts: Sequence[FigureVerdict]) -> list[Text]:
    """A line for each path: 'aware: worse at 15 of 28 sizes, 64 KiB to 1 GiB, time up to x 1.09'."""
    lines = []
    ordered = sorted(verdicts, key=lambda one: one.key)
    for key, found in grouped((one.key.series, one) for one in ordered).items():
        alike = [(what, these) for what in SAYS if (these := [one for one in found if one.what == what])]
        parts = [Text(_counted(these, len(found)), SAYS[what][1]) for what, these in alike]
        lines.append(Text(f"{key.title}: ", style="bold") + Text("; ").join(parts))
    return lines


def _counted(these: Sequence[FigureVerdict], all_sizes: int) -> str:
    what, sizes = these[0].what, size_range([one.key.bytes for one in these])
    if len(these) == all_sizes:
        text = f"{SAYS[what][0]} at {'all ' if all_sizes > 1 else ''}{sizes}"
    else:
        text = f"{SAYS[what][0]} at {len(these)} of {all_sizes} sizes, {sizes}"
    ratios = [one.change.ratio for one in these if one.change]
    if what == WORSE and ratios:
        text += f", time up to x {factor(max(ratios))}"
    elif what == BETTER and ratios:
        text += f", time down to x {factor(min(ratios))}"
    return text


def size_range(sizes: Sequence[int]) -> str:
    """'8 B', '8 B to 1 GiB'."""
    return " to ".join(map(format_size, dict.fromkeys((min(sizes), max(sizes)))))


def factor(ratio: float) -> str:
    """Two digits of what differs from 1: '1.052', '1.4', '0.948'."""
    return f"{ratio:.{3 if abs(ratio - 1) < 0.1 else 2}f}"


def _table(rows: Sequence[FigureVerdict]) -> Table[FigureVerdict]:
    def time(seconds: float | None) -> str | None:
        return None if seconds is None else format_seconds(seconds)

    def rate(one: FigureVerdict, seconds: float | None) -> str | None:
        return None if seconds is None else format_rate(one.amount / seconds) if one.amount else ""

    def ratio(one: FigureVerdict) -> Text | None:
        return Text(factor(one.change.ratio), SAYS[one.what][1]) if one.change else None

    def interval(one: FigureVerdict) -> str | None:
        return " to ".join(map(factor, one.change.interval())) if one.change else None

    return table(
        [
            Column("", lambda one: one.key.title, left=True),
            Column("size", lambda one: format_size(one.key.bytes), gap=4),
            Column("old", lambda one: time(one.old_s), gap=4),
            Column("GB/s", lambda one: rate(one, one.old_s), gap=3, drop=2),
            Column("new", lambda one: time(one.new_s), gap=4),
            Column("GB/s", lambda one: rate(one, one.new_s), gap=3, drop=2),
            Column("time x", ratio, gap=4),
            Column("95 %", interval, style="dim", gap=4, drop=1),
            Column("verdict", lambda one: Text(*SAYS[one.what]), gap=4, left=True),
        ],
        rows,
    )


def _failures(rows: Iterable[FigureVerdict]) -> list[str]:
    """Failures, each once for all sizes that it left without a figure."""
    found = grouped(
        ((one.key.path, figures.failure_text(one.failure)), one.key.bytes) for one in rows if one.failure
    )
    return [f"{path} at {size_range(sizes)}: {text}" for (path, text), sizes in found.items()]


def _alone(comparison: Comparison) -> list[str]:
    lines = []
    for side, keys in (("old", comparison.only_old), ("new", comparison.only_new)):
        curves = grouped((key.series, key.bytes) for key in keys)
        what = [f"{series.title} at {size_range(sizes)}" for series, sizes in curves.items()]
        if what:
            lines.append(f"Only in {side}, so not compared: {'; '.join(what)}")
    return lines


def legend(comparison: Comparison) -> list[str]:
    """How the verdicts were reached."""
    told = []
    if any(one.what == UNSURE for one in comparison.verdicts):
        told = [
            "cannot tell: a side has no launch whose ranks had their CPUs to themselves (& in its table), or "
            "neither side has an interval"
        ]
    old, new = comparison.launches
    if not (old and new):
        return told
    share = figures.percent(FALSE_ALARMS)
    lines = [
        f"time x: new time / old time, above 1 is slower; launches of each figure: {old} old, {new} new",
        f"worse, better: more than chance, {share} for all {len(comparison.verdicts)} figures together "
        "(Benjamini-Hochberg)",
    ]
    if min(old, new) < ENOUGH_LAUNCHES:
        changes = [one.change for one in comparison.verdicts if one.change]
        least = min((one.interval()[1] / one.ratio for one in changes), default=1.0) - 1
        lines.append(
            f"with so few launches they are assumed to differ by {figures.percent(comparison.spread)} "
            f"(--spread) by themselves, so that no change of a single figure below {figures.percent(least)} "
            f"can be seen; with {ENOUGH_LAUNCHES} launches per side or more, smaller changes can be seen: "
            "'wirespeed watch' makes them"
        )
    return lines + told
