"""Findings on a terminal: title, evidence, remedy, and how much the remedy gains."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.finding import Cost, Improvement, RemedyPoint
from wirespeed.doctor.shell import split, visible
from wirespeed.report.console.console import say
from wirespeed.report.facts.figures import ratio as ratio_text
from wirespeed.results.findings import COSTS, RecordedFinding
from wirespeed.units import format_seconds, format_size

STYLES = {Cost.BREAKS: "bold red", Cost.HIGH: "red", Cost.SOME: "yellow", Cost.SMALL: "dim"}
WORSE = "worse, not better: leave it as it is"
MAX_POINTS = 4
MAX_RATIO = 100
"""A larger end of an interval says only that it is wide."""
COMMENT = "#"
"""Label of a line that explains the command above it."""
Line = tuple[str, str, str]
"""Label, text, style."""


def print_findings(console: Console, findings: Sequence[RecordedFinding]) -> None:
    """The most expensive first, numbered; below them what a trial refuted, which is no finding."""
    _numbered(console, [finding for finding in findings if not finding.refuted])
    refuted = [finding for finding in findings if finding.refuted]
    if refuted:
        console.print()
        console.print(Text("Tried, and nothing gained", style="bold"))
    for recorded_finding in refuted:
        worth, title = recorded_finding.worth or Improvement(), visible(recorded_finding.title)
        commands = "; ".join(filter(None, (split(visible(line))[0] for line in recorded_finding.remedy)))
        worse = f"; {WORSE}" if worth.verdict == "worse" else ""
        say(console, f"  {commands or title}: {_ratios(worth)}{worse}", indent=4)
        if commands:
            say(console, f"    it was tried because of: {title}", "dim", indent=6)


def _numbered(console: Console, findings: Sequence[RecordedFinding]) -> None:
    if not findings:
        console.print(Text("No findings.", style="bold green"))
        return
    count = f"{len(findings)} finding{'s' if len(findings) > 1 else ''}, most expensive first"
    console.print(Text(count, style="bold"))
    for number, finding in enumerate(findings, 1):
        cost = finding.measured_cost
        head = Text.assemble(
            f"{number}. ", (f"[{cost}] ", STYLES.get(cost, "")), (visible(finding.title), "bold")
        )
        console.print()
        say(console, head, indent=3)
        for label, text, style in _lines(finding, cost):
            if label == COMMENT:
                for part in textwrap.wrap(text, max(20, console.width - 12)):
                    console.print(Text(f"            {part}", style))
            else:
                say(console, Text.assemble((f"   {label:<6} ", "dim"), (text, style)), indent=10)


def _lines(finding: RecordedFinding, cost: str) -> Iterator[Line]:
    for line in finding.evidence:
        yield "seen", visible(line), ""
    for line in finding.remedy:
        # A shell line stays in one piece where it fits; what it does follows.
        command, explained = split(visible(line))
        if command:
            yield "do", command, "cyan"
        yield COMMENT, explained, "dim"
    for option in finding.options:
        seconds = f", {format_seconds(option.seconds)}" if option.seconds is not None else ""
        yield "try", option.title, ""
        yield from (("", visible(line), "cyan") for line in option.lines)
        style = "green" if option.outcome == "works" else "red" if option.outcome else "dim"
        yield "", f"{option.outcome}{seconds}" if option.outcome else "not tried", style
    if finding.worth:
        yield from _gain(finding.worth)
    elif not finding.options:
        how = "not measured; --try measures it" if getattr(finding, "trial", None) else "not measured"
        yield "worth", f"{COSTS.get(cost, 'cost unknown')} ({how})", "dim"


def _gain(worth: Improvement) -> Iterator[Line]:
    points = _chosen(worth.points, worth.best)
    if any(point.ratio is not None for point in points):
        yield "worth", _ratios(worth), "green"
        if worth.verdict == "worse":
            yield "", WORSE, "yellow"
        elif worth.verdict == "same" and not worth.useless:
            known = worth.most is not None and worth.most < MAX_RATIO
            most = f"up to {ratio_text(worth.most or 0)}x faster is" if known else "a gain is"
            yield "", f"{most} not excluded: measure again when the machine is quiet", "yellow"
    for point in points:
        yield "", f"{format_size(point.bytes)}: {_side(point.before)} before, {_side(point.after)} after", ""
    if worth.before and not any(point.before for point in points):
        yield "before", worth.before, ""
    if worth.after and not any(point.after for point in points):
        yield "after", worth.after, "red"
    yield "", worth.what, "dim"


def _ratios(worth: Improvement) -> str:
    """'2.41x faster at 64 KiB, 1.01x slower at 16 MiB (measured now)'."""
    measured = "measured now" if worth.measured == "now" else f"measured in {visible(worth.measured)}"
    points = _chosen(worth.points, worth.best)
    if worth.verdict == "same":
        sizes = ", ".join(format_size(point.bytes) for point in points)
        return f"no significant difference at {sizes} ({measured})"
    return f"{', '.join(map(_ratio, points))} ({measured})"


def _chosen(points: Sequence[RemedyPoint], best: RemedyPoint | None) -> Sequence[RemedyPoint]:
    """At most a few sizes: the ends, the middle, and where the remedy gains most."""
    if len(points) <= MAX_POINTS:
        return points
    wanted = (points[0], points[len(points) // 2], points[-1], best)
    return [point for point in points if point in wanted]


def _ratio(point: RemedyPoint) -> str:
    """'2.41x faster at 64 KiB'; a ratio whose interval includes 1 is marked as not significant."""
    if point.ratio is None:
        return f"no ratio at {format_size(point.bytes)}"
    faster = point.ratio >= 1
    times = ratio_text(point.ratio if faster else 1 / point.ratio)
    text = f"{times}x {'faster' if faster else 'slower'} at {format_size(point.bytes)}"
    return text if point.certain else f"{text} (not significant: the intervals overlap)"


def _side(seconds: float | None) -> str:
    return "no figure" if seconds is None else format_seconds(seconds)
