"""A comparison on a terminal: what changed, path by path, what differs besides, and single sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from wirespeed.grouping import ends, grouped, size_range, size_ranges
from wirespeed.judge.model import GIVEN, LEARNT, PAIRED, SEEN, STATED
from wirespeed.judge.verdict import (
    BETTER,
    LIKELY_BETTER,
    LIKELY_WORSE,
    NOT_WORSE,
    TO_BE_EXCLUDED,
    UNSURE,
    WORSE,
    to_be_excluded,
)
from wirespeed.report.cannot_tell import and_why, lines, slowdowns
from wirespeed.report.compare.comparison import Comparison
from wirespeed.report.compare.definitions import ARROW
from wirespeed.report.compare.environment import Difference
from wirespeed.report.compare.matching import Key
from wirespeed.report.compare.verdicts import GAINED, SAYS, UNNAMED, Verdict, Verdicts, launches_left_out
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.console import say
from wirespeed.report.facts import figures
from wirespeed.units import format_rate, format_seconds, format_size

MAX_ROWS = 20
FEW = 3
MAX_OF_A_TOPIC = 6
APART = 0.05
"""Logarithm of a ratio by which a size differs from its group, if it is shown by itself."""


PAIRS = "old, new: median of the launches; time x: median of the ratios of all pairs of an old and a new one"


def print_comparison(console: Console, comparison: Comparison, *, everything: bool = False) -> None:
    """Paths first, then causes, then single sizes, the worst first."""
    sides = Text.assemble(("old ", "dim"), comparison.old), Text.assemble(("new ", "dim"), comparison.new)
    beside = Text("   ").join(sides)
    for line in [beside] if beside.cell_len <= console.width else sides:
        say(console, line)
    for note in comparison.notes:
        say(console, note, "dim")
    found = comparison.verdicts
    title = _title([figure.key for figure in found.figures])
    if found.groups:
        console.print()
        console.print(_groups(found.groups, title).stack(console.width), crop=False)
    sizes = _single_sizes(found, everything=everything)
    if sizes:
        console.print()
        shown = sizes[: None if everything else MAX_ROWS]
        console.print(_table(shown, title).stack(console.width), crop=False)
    if not everything and len(sizes) > MAX_ROWS:
        say(console, f"{len(sizes) - MAX_ROWS} more with --all", "dim")
    console.print()
    for text in _failures(found.figures):
        say(console, text, "dim")
    for text in lines(comparison.unjudged):
        say(console, text, "yellow")
    for text in _odd(comparison.verdicts):
        say(console, text, "yellow")
    if not comparison.notes:
        _print_differences(console, comparison.differences)
    console.print()
    for text in _alone(comparison):
        say(console, text, "yellow")
    for text in legend(comparison):
        say(console, text, "dim")


def _single_sizes(found: Verdicts, *, everything: bool) -> list[Verdict]:
    """Those of which something else is said than of their group; `everything`: all of them."""
    groups = {(group.key, size): group for group in found.groups for size in group.sizes}

    def as_its_group(figure: Verdict) -> bool:
        group = groups.get((figure.key.series, figure.key.bytes))
        if not (group and group.change and figure.change) or figure.what != group.what:
            return False
        return abs(figure.change.log_ratio - group.change.log_ratio) < APART

    def named(figure: Verdict) -> bool:
        group = groups.get((figure.key.series, figure.key.bytes))
        return figure.what not in UNNAMED or bool(figure.reason and group and not group.reason)

    if everything:
        return found.figures
    return _folded([figure for figure in found.figures if named(figure) and not as_its_group(figure)])


def _folded(rows: Sequence[Verdict]) -> list[Verdict]:
    """A path's sizes that are gone, or there now, are one row if there are more than FEW."""
    alike = grouped(((row.key.series, row.what), row) for row in rows if not row.change)
    whole = {key: these for key, these in alike.items() if len(these) > FEW}
    found = []
    for row in rows:
        these = whole.get((row.key.series, row.what), []) if not row.change else []
        if not these:
            found.append(row)
        elif row is these[0]:
            sizes = tuple(sorted(one.key.bytes for one in these))
            found.append(replace(row, sizes=sizes, old_s=None, new_s=None))
    return found


def _odd(found: Verdicts) -> list[str]:
    """'launch 3 of new is 1.30 x the others (aware at 8 B to 4 KiB): leave it out, or measure again'."""
    told = []
    for group in sorted(found.groups, key=lambda group: (group.key, group.sizes)):
        where = f"{group.key.title} at {size_range(group.sizes)}"
        for odd in group.odd:
            which = f"launch {odd.number} of {('old', 'new')[odd.side]}"
            told.append(
                f"{which} is {factor(odd.ratio)} x the others ({where}): leave it out, or measure again"
            )
    return told


def _print_differences(console: Console, found: Sequence[Difference]) -> None:
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


def factor(ratio: float) -> str:
    """Two digits of what differs from 1: '1.052', '1.4', '0.948'."""
    return f"{ratio:.{3 if abs(ratio - 1) < 0.1 else 2}f}"


def _title(keys: Sequence[Key]) -> Column[Verdict]:
    """A figure's name, without what all have in common.

    That is the pattern, and of 'osu-mpi/D-D -> aware' the side that is the same, which the head has.
    """
    alike = len({key.pattern for key in keys}) == 1
    parts = [key.path.partition(ARROW) for key in keys]
    sides = {f"{old}{arrow}" for old, arrow, _ in parts}, {f"{arrow}{new}" for _, arrow, new in parts}
    common = (
        next((side for (side, *more) in map(sorted, sides) if ARROW in side and not more), "") if keys else ""
    )

    def name(verdict: Verdict) -> str:
        key = verdict.key
        title = key.title.removeprefix(f"{key.pattern} ") if alike else key.title
        return title.replace(common, "", 1)

    return Column(common.strip(), name, left=True)


def _ratio(verdict: Verdict) -> Text | None:
    return Text(factor(verdict.change.ratio), verdict.style) if verdict.change else None


def _interval(verdict: Verdict) -> str | None:
    return " to ".join(map(factor, verdict.change.interval())) if verdict.change else None


def _spread(verdict: Verdict) -> str | None:
    if not verdict.change:
        return None
    by = figures.percent(verdict.change.spread)
    return by if verdict.change.source in (SEEN, GIVEN) else f"{by}, {verdict.change.source}"


def _says(verdict: Verdict) -> Text:
    return Text(*SAYS[verdict.what])


def _groups(rows: Sequence[Verdict], title: Column[Verdict]) -> Table[Verdict]:
    # A time is of one size: where groups have more, it leaves a narrow table first, else last.
    several = any(len(group.sizes) > 1 for group in rows)
    gap, drop = (3, 4) if several else (2, 1)
    times: list[Column[Verdict]] = [
        Column("old", lambda group: _time(group.old_s) or "", gap=3, drop=drop),
        Column("new", lambda group: _time(group.new_s) or "", gap=gap, drop=drop),
    ]
    columns: list[Column[Verdict]] = [
        title,
        Column("sizes", lambda group: size_range(group.sizes), gap=3, left=True),
        *(times if any(group.old_s for group in rows) else []),
        Column("time x", _ratio, gap=gap),
        Column("95 %", _interval, style="dim", gap=gap, drop=3),
        Column("launches\ndiffer by", _spread, style="dim", gap=gap, drop=2),
        Column("verdict", _says, gap=gap, left=True),
    ]
    return table(columns, rows)


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else format_seconds(seconds)


def _table(rows: Sequence[Verdict], title: Column[Verdict]) -> Table[Verdict]:
    def rate(figure: Verdict, seconds: float | None) -> str | None:
        if seconds is None:
            return None
        return format_rate(figure.amount / seconds) if figure.amount else ""

    columns: list[Column[Verdict]] = [
        title,
        Column("size", lambda figure: size_range(figure.sizes), gap=3),
        Column("old", lambda figure: _time(figure.old_s), gap=3),
        Column("GB/s", lambda figure: rate(figure, figure.old_s), gap=3, drop=2),
        Column("new", lambda figure: _time(figure.new_s), gap=3),
        Column("GB/s", lambda figure: rate(figure, figure.new_s), gap=3, drop=2),
        Column("time x", _ratio, gap=3),
        Column("95 %", _interval, style="dim", gap=3, drop=1),
        Column("verdict", _says, gap=3, left=True),
    ]
    return table(columns, rows)


def _failures(rows: Iterable[Verdict]) -> list[str]:
    """Failures, each once for all sizes that it left without a figure."""
    found = grouped(
        (
            (row.key.path, "old" if row.what == GAINED else "new", figures.failure_text(row.failure)),
            row.key.bytes,
        )
        for row in rows
        if row.failure
    )
    return [f"{path} at {size_range(sizes)} in {side}: {text}" for (path, side, text), sizes in found.items()]


def _alone(comparison: Comparison) -> list[str]:
    lines = []
    compared = [figure.key for figure in comparison.verdicts.figures]
    every = grouped(
        (key.series, key.bytes) for key in (*compared, *comparison.only_old, *comparison.only_new)
    )
    for side, keys in (("old", comparison.only_old), ("new", comparison.only_new)):
        curves = grouped((key.series, key.bytes) for key in keys)
        what = [f"{series.title} at {size_ranges(sizes, every[series])}" for series, sizes in curves.items()]
        if what:
            lines.append(f"Only in {side}, so not compared: {'; '.join(what)}")
    for side, left_out in zip(("old", "new"), comparison.impossible, strict=True):
        for reason in left_out:
            where = f"{reason.key.title} at {format_size(reason.key.bytes)}"
            lines.append(f"Impossible in {side}, so not compared: {where}: {reason.why}")
    return lines


KEYS = {
    WORSE: "changed: more than chance, by what these launches differ by",
    LIKELY_WORSE: "likely real: further apart than two launches of such a path lie",
    NOT_WORSE: "within what launches differ by: equal launches lie as far apart; {excluded}",
    UNSURE: "too noisy to tell: {bound} is not excluded",
}
"""A line for each verdict."""
_SAME_KEY = {BETTER: WORSE, LIKELY_BETTER: LIKELY_WORSE}


def legend(comparison: Comparison) -> list[str]:
    """Explanation of the verdicts, and of what they would have found."""
    launches, groups = comparison.launches, comparison.verdicts.groups
    order = [line for line in [comparison.order] if line]
    if not launches:
        return order
    old, new = (ends([counts[side] for counts in launches]) for side in (0, 1))
    told = [
        f"time x: new time / old time, above 1 is slower; launches of each figure: {old} old, {new} new",
        *([PAIRS] if any(max(counts) > 1 for counts in launches) else []),
        *(f"launches left out: {text}" for text in and_why(launches_left_out(comparison.verdicts))),
        *order,
    ]
    if comparison.foreign:
        told.append("another tool's figures have no interval: each is taken as exact within its launch")
    said = {group.what for group in groups}
    said |= {figure.what for figure in comparison.verdicts.figures} - {*UNNAMED}
    bound, excluded = _excluded(comparison)
    told += [
        text.format(bound=bound, excluded=excluded)
        for what, text in KEYS.items()
        if what in {_SAME_KEY.get(one, one) for one in said}
    ]
    smallest = [(group.smallest, group.where) for group in groups if group.smallest is not None]
    if smallest:
        told.append(slowdowns("a range of sizes", smallest, "not name", ", but call it too noisy to tell"))
    if comparison.least:
        told.append(f"changes by up to {figures.percent(comparison.least)} count as none (--least)")
    if comparison.spread is not None:
        spread = figures.percent(comparison.spread)
        told.append(f"launches of the same thing are known to differ by {spread} (--spread)")
    sources = {group.change.source for group in groups if group.change}
    if PAIRED in sources:
        told.append(
            "paired: launches took turns, and both sides rise and fall together: each new one is held "
            "against the old ones around it"
        )
    counts = [group.change.earlier for group in groups if group.change and group.change.earlier]
    if counts:
        files = ", ".join(comparison.earlier)
        told.append(
            f"earlier: what {ends(counts)} launches beside differ by, with the same GPUs, MPI and plan "
            f"({_OR_STATED}): {files}"
        )
    if LEARNT in sources:
        told.append(
            f"learnt: what launches of the same thing differ by, as {', '.join(comparison.bounds)} says "
            f"({_OR_STATED})"
        )
    if STATED in sources:
        told.append(
            "stated: what launches of such paths differ by on other machines (--spread, if you know it); an "
            "interval is then how far two launches lie apart"
        )
    return told


_OR_STATED = "or such paths on other machines, if that is more"


def _excluded(comparison: Comparison) -> tuple[str, str]:
    """Words for the slowdown that must be excluded, and for whether it is, of all that is NOT_WORSE."""
    least = max(TO_BE_EXCLUDED, comparison.least)
    bound = (
        f"a slowdown by {figures.percent(least)}, or by three times what launches differ by if that is more,"
    )
    same = [group for group in comparison.verdicts.groups if group.what == NOT_WORSE]
    told = [
        (to_be_excluded(group.change, least), group.where)
        for group in same
        if group.change and not group.reason
    ]
    if not told:
        return bound, f"{bound} is not excluded"
    most, where = max(told)
    which = f" (as {figures.percent(most)} of {where})" if most > least else ""
    but = "" if len(told) == len(same) else ", but for what 'cannot tell' names"
    return "such a slowdown", f"{bound.removesuffix(',')}{which}, is excluded{but}"
