"""Outliers of a fleet, on a terminal: the answer, the findings with their evidence, what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.fleet.estimates import KindTime
from wirespeed.fleet.judge import Outlier, OutlierEvidence
from wirespeed.fleet.names import compress
from wirespeed.report.compare.terminal import factor
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts.figures import percent
from wirespeed.report.fleet.shown import Shown, with_partners
from wirespeed.statistics.outliers import FEWEST_TIMES
from wirespeed.units import counted, format_seconds

MAX_ROWS = 20
MAX_FIGURES = 3
Row = tuple[Outlier, OutlierEvidence, bool]
"""A finding, one of its figures, and whether it is the first of them."""


def print_fleet(console: Console, shown: Shown, *, everything: bool = False) -> None:
    """The answer first, then findings, the most expensive first."""
    findings = shown.verdict.findings
    sure = "bold yellow" if shown.cannot_tell else "bold green"
    say(console, Text(shown.answer, sure if not findings and not shown.silent else "bold red"))
    figures = counted(shown.verdict.figures, "figure")
    say(console, f"{shown.folder}, {shown.days}: {figures}, judged: {shown.judged}", "dim")
    if shown.smallest:
        say(console, f"would have been named in 90 % of the cases: {shown.smallest}", "dim")
    for line in shown.silences[: None if everything else MAX_ROWS]:
        say(console, line, "red")
    if findings:
        console.print()
        _print_findings(console, findings, "usual", everything=everything)
    for line in [*kind_lines(shown), *shown.software]:
        say(console, line)
    if shown.cannot_tell:
        console.print()
        say(console, Text("Cannot tell", "bold"))
        for line in shown.cannot_tell:
            say(console, line)
    if shown.excluded:
        console.print()
        excluded = f"sbatch --exclude={compress(shown.excluded)}"
        say(console, Text.assemble(("leave out: ", "bold"), excluded))
    if shown.drift:
        _print_drift(console, shown, everything=everything)
    console.print()
    for line in legend(shown):
        say(console, line, "dim")


def _print_findings(console: Console, findings: Sequence[Outlier], usual: str, *, everything: bool) -> None:
    most = len(findings) if everything else MAX_ROWS
    rows = [
        (finding, evidence, number == 0)
        for finding in findings[:most]
        for number, evidence in enumerate(finding.evidence[: None if everything else MAX_FIGURES])
    ]
    columns: list[Column[Row]] = [
        Column("", lambda row: Text(row[0].kind if row[2] else "", "dim"), left=True),
        Column("", lambda row: Text(row[0].name if row[2] else "", "bold red"), left=True),
        Column("time x", lambda row: Text(factor(row[1].ratio), "red"), gap=3),
        Column("95 %", lambda row: f"{factor(row[1].low)} to {factor(row[1].high)}", "dim", gap=3, drop=2),
        Column("figure", lambda row: row[1].figure, gap=3, left=True),
        Column(usual, lambda row: format_seconds(row[1].usual_s), gap=3, drop=3),
        Column("measured", lambda row: str(row[1].measured), gap=3, drop=4),
        Column("how", lambda row: with_partners(row[0], row[1]), gap=3, left=True, drop=1),
    ]
    console.print(table(columns, rows).fit(console.width), crop=False)
    hidden = sum(len(finding.evidence) for finding in findings) - len(rows)
    if hidden:
        say(console, f"{hidden} more lines with --all", "dim")


def _print_drift(console: Console, shown: Shown, *, everything: bool) -> None:
    found = shown.drift
    if not found:
        return
    console.print()
    say(console, Text(f"Since {found.since}", "bold"))
    for change in found.fleet[: None if everything else MAX_ROWS]:
        word = "slower" if change.ratio > 1 else "faster"
        text = f"all: {change.figure} is {word}, time x {factor(change.ratio)} (median of {change.count})"
        say(console, text, "red" if change.ratio > 1 else "green")
    for line in found.of_fleet:
        say(console, f"changed meanwhile: {line}")
    if found.verdict.findings:
        _print_findings(console, found.verdict.findings, "now", everything=everything)
        for finding in found.verdict.findings[: None if everything else MAX_ROWS]:
            changed = "; ".join(found.changed.get(finding.name, []))
            say(console, f"{finding.name}: {changed or 'driver, MPI and kernel are the same as before'}")
    elif not found.fleet:
        say(console, "Nothing became slower.")


def kind_lines(shown: Shown) -> list[str]:
    """A line for each kind of hardware that differs from the most frequent one."""
    worst: dict[str, KindTime] = {}
    for kind in shown.verdict.kinds:
        if kind.kind not in worst or abs(math.log(kind.ratio)) > abs(math.log(worst[kind.kind].ratio)):
            worst[kind.kind] = kind
    return [
        f"hardware: {kind.kind} ({counted(kind.nodes, 'node')}) takes {factor(kind.ratio)} x the time of "
        f"{kind.usual} ({kind.figure}); each is judged among its own"
        for kind in worst.values()
    ]


def legend(shown: Shown) -> list[str]:
    """Explanation of the verdicts."""
    lines = [
        "time x: time over that of the median one of its kind; the most expensive first: excess time x nodes",
        f"at most {percent(shown.false_alarms)} of what is named is named by chance (--fdr); slower by up to "
        f"{percent(shown.least)} counts as nothing (--least); naming takes {FEWEST_TIMES} independent times",
    ]
    if not shown.topology.switches:
        lines.append("without --topology FILE a slow switch shows as many slow nodes")
    return lines
