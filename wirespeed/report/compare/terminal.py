"""A comparison on a terminal: what changed, path by path, what differs besides, and the worst figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.cannot_tell import CANNOT_TELL, and_why, lines
from wirespeed.report.compare.comparison import Comparison
from wirespeed.report.compare.environment import Difference
from wirespeed.report.compare.verdicts import (
    BETTER,
    NOT_WORSE,
    SAME,
    SAYS,
    TO_BE_FOUND,
    UNNAMED,
    UNSURE,
    WORSE,
    FigureVerdict,
    PathVerdict,
    Verdicts,
    launches_left_out,
)
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.console import say
from wirespeed.report.facts import figures
from wirespeed.report.grouping import grouped, size_range
from wirespeed.report.smallest import slowdowns
from wirespeed.statistics.comparison import FALSE_ALARMS, UNSEEN_SPREAD
from wirespeed.units import format_rate, format_seconds, format_size

MAX_ROWS = 20
MAX_OF_A_TOPIC = 6


def print_comparison(console: Console, comparison: Comparison, *, everything: bool = False) -> None:
    """Paths first, then causes, then figures, the worst first."""
    say(console, Text.assemble(("old ", "dim"), comparison.old, ("   new ", "dim"), comparison.new))
    for note in comparison.notes:
        say(console, note, "dim")
    console.print()
    for line in summary(comparison.verdicts):
        say(console, line)
    for text in lines(comparison.unjudged):
        say(console, text, "yellow")
    if not comparison.notes:
        _print_differences(console, comparison.differences)
    rows = [figure for figure in comparison.verdicts.figures if everything or figure.what not in UNNAMED]
    if rows:
        console.print()
        shown = rows[: None if everything else MAX_ROWS]
        console.print(_table(shown).fit(console.width), crop=False)
    if not everything and len(rows) > MAX_ROWS:
        say(console, f"{len(rows) - MAX_ROWS} more with --all", "dim")
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
    for topic in dict.fromkeys(difference.topic for difference in found):
        lines = [difference.text for difference in found if difference.topic == topic]
        for line in lines[:MAX_OF_A_TOPIC]:
            say(console, line, indent=4)
        if len(lines) > MAX_OF_A_TOPIC:
            say(console, f"{len(lines) - MAX_OF_A_TOPIC} more of this kind: --format json has them")


def summary(verdicts: Verdicts) -> list[Text]:
    """A line for each path: 'aware: worse at 15 of 28 sizes, 64 KiB to 1 GiB, time up to x 1.09'."""
    told = []
    wholes = {path.key: path for path in verdicts.paths}
    ordered = sorted(verdicts.figures, key=lambda figure: figure.key)
    for key, found in grouped((figure.key.series, figure) for figure in ordered).items():
        whole = wholes.get(key)
        words = _whole(whole, found) if whole and len(found) > 1 else ""
        calm = bool(whole and words and whole.what in UNNAMED)
        alike = grouped(((figure.harm[0], figure.style), figure) for figure in found)
        parts = [
            Text(_counted(these, len(found), calm), style)
            for (_, style), these in sorted(alike.items())
            if not (calm and these[0].what in (SAME, NOT_WORSE))
        ]
        if whole and words:
            parts.insert(0, Text(words, SAYS[whole.what][1]))
        told.append(Text(f"{key.title}: ", style="bold") + Text("; ").join(parts))
    return told


def _whole(path: PathVerdict, sizes: Sequence[FigureVerdict]) -> str:
    """'worse as a whole, time x 1.05 (1.03 to 1.07)'; '' where nothing is said of all sizes together.

    No change is only said of the whole where the sizes' own tests say anything else.
    """
    alike = path.what in UNNAMED and all(size.what == path.what or size.what not in UNNAMED for size in sizes)
    if not path.change or path.what == UNSURE or alike:
        return ""
    low, high = path.change.interval()
    ratio = factor(path.change.ratio)
    return f"{SAYS[path.what][0]} as a whole, time x {ratio} ({factor(low)} to {factor(high)})"


def _counted(these: Sequence[FigureVerdict], all_sizes: int, calm: bool = False) -> str:
    """`calm`: the path has no change as a whole."""
    if these[0].alone and (calm or len(these) == all_sizes):
        many = "any size" if len(these) == all_sizes else f"{len(these)} of {all_sizes} sizes"
        return f"{CANNOT_TELL} of {many} alone"
    what, sizes = these[0].what, size_range([figure.key.bytes for figure in these])
    if len(these) == all_sizes:
        text = f"{SAYS[what][0]} at {'all ' if all_sizes > 1 else ''}{sizes}"
    else:
        text = f"{SAYS[what][0]} at {len(these)} of {all_sizes} sizes, {sizes}"
    ratios = [figure.change.ratio for figure in these if figure.change]
    if what == WORSE and ratios:
        text += f", time up to x {factor(max(ratios))}"
    elif what == BETTER and ratios:
        text += f", time down to x {factor(min(ratios))}"
    return text


def factor(ratio: float) -> str:
    """Two digits of what differs from 1: '1.052', '1.4', '0.948'."""
    return f"{ratio:.{3 if abs(ratio - 1) < 0.1 else 2}f}"


def _table(rows: Sequence[FigureVerdict]) -> Table[FigureVerdict]:
    def time(seconds: float | None) -> str | None:
        return None if seconds is None else format_seconds(seconds)

    def rate(figure: FigureVerdict, seconds: float | None) -> str | None:
        if seconds is None:
            return None
        return format_rate(figure.amount / seconds) if figure.amount else ""

    def ratio(figure: FigureVerdict) -> Text | None:
        return Text(factor(figure.change.ratio), figure.style) if figure.change else None

    def interval(figure: FigureVerdict) -> str | None:
        return " to ".join(map(factor, figure.change.interval())) if figure.change else None

    columns: list[Column[FigureVerdict]] = [
        Column("", lambda figure: figure.key.title, left=True),
        Column("size", lambda figure: format_size(figure.key.bytes), gap=4),
        Column("old", lambda figure: time(figure.old_s), gap=4),
        Column("GB/s", lambda figure: rate(figure, figure.old_s), gap=3, drop=2),
        Column("new", lambda figure: time(figure.new_s), gap=4),
        Column("GB/s", lambda figure: rate(figure, figure.new_s), gap=3, drop=2),
        Column("time x", ratio, gap=4),
        Column("95 %", interval, style="dim", gap=4, drop=1),
        Column("verdict", lambda figure: Text(SAYS[figure.what][0], figure.style), gap=4, left=True),
    ]
    return table(columns, rows)


def _failures(rows: Iterable[FigureVerdict]) -> list[str]:
    """Failures, each once for all sizes that it left without a figure."""
    found = grouped(
        ((row.key.path, figures.failure_text(row.failure)), row.key.bytes) for row in rows if row.failure
    )
    return [f"{path} at {size_range(sizes)}: {text}" for (path, text), sizes in found.items()]


def _alone(comparison: Comparison) -> list[str]:
    lines = []
    for side, keys in (("old", comparison.only_old), ("new", comparison.only_new)):
        curves = grouped((key.series, key.bytes) for key in keys)
        what = [f"{series.title} at {size_range(sizes)}" for series, sizes in curves.items()]
        if what:
            lines.append(f"Only in {side}, so not compared: {'; '.join(what)}")
    for side, left_out in zip(("old", "new"), comparison.impossible, strict=True):
        for reason in left_out:
            where = f"{reason.key.title} at {format_size(reason.key.bytes)}"
            lines.append(f"Impossible in {side}, so not compared: {where}: {reason.why}")
    return lines


def legend(comparison: Comparison) -> list[str]:
    """Explanation of the verdicts, and of what they would have found."""
    launches = comparison.launches
    if not launches:
        return []
    old, new = (_ends([counts[side] for counts in launches]) for side in (0, 1))
    share = figures.percent(FALSE_ALARMS)
    paths = [path for path in comparison.verdicts.paths if path.smallest is not None]
    told = [
        f"time x: new time / old time, above 1 is slower; launches of each figure: {old} old, {new} new",
        *(f"launches left out: {text}" for text in and_why(launches_left_out(comparison.verdicts))),
        f"worse, better: more than chance, {share} for all paths and figures together",
    ]
    if comparison.foreign:
        told.append("another tool's figures have no interval: each is taken as exact within its launch")
    if paths:
        wholes = [(path.smallest or 0.0, path.key.path) for path in paths]
        sizes = [(path.smallest_of_a_size or 0.0, path.key.path) for path in paths]
        text = f"found in 9 of 10 cases: {slowdowns('a slowdown of a whole path', wholes)}"
        told.append(text + (f"; {slowdowns('of a single size', sizes)}" if sizes != wholes else ""))
    if comparison.least:
        told.append(f"changes by up to {figures.percent(comparison.least)} count as none (--least)")
    if any(figure.alone for figure in comparison.verdicts.figures):
        least = figures.percent(max(TO_BE_FOUND, comparison.least))
        told.append(
            f"cannot tell of a size alone: it may be {least} slower, or more; its path's verdict stands"
        )
    if comparison.spread is not None:
        spread = figures.percent(comparison.spread)
        told.append(f"launches of the same thing are known to differ by {spread} (--spread)")
    elif (1, 1) in launches:
        spread = figures.percent(UNSEEN_SPREAD)
        told.append(
            f"with one launch per side, launches are assumed to differ by {spread}; --spread, if you know it"
        )
    return told


def _ends(counts: Sequence[int]) -> str:
    """'3', '7 to 10'."""
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"
