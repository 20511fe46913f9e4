"""A check on a terminal or in a job's log: one line for each rule that does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.check.evaluate import (
    DOUBTFUL,
    FAILED,
    IN_DOUBT,
    KEPT,
    MISSING,
    NOT_JUDGED,
    UNKNOWN,
    Finding,
    RuleOutcome,
    rules,
)
from wirespeed.units import format_size

STYLE = {DOUBTFUL: "yellow", NOT_JUDGED: "yellow", KEPT: "dim"}
WORD = {FAILED: "FAILED", MISSING: "MISSING", UNKNOWN: "UNKNOWN", KEPT: "ok"}
COUNTED = {MISSING: "missing", UNKNOWN: "unknown", DOUBTFUL: "in doubt", NOT_JUDGED: "not judged"}


def print_findings(
    console: Console,
    name: str,
    findings: Sequence[Finding],
    *,
    strict: bool,
    everything: bool,
    explain: bool = False,
) -> None:
    """One line a rule, never folded, so that a log can be searched; then how many do not hold.

    'FAILED     site.toml:12: pingpong aware at 1 GiB: 351 GB/s (348 to 353), at least 380 GB/s wanted'
    `everything`: also those that hold. `explain`: each size has a line.
    """
    found = rules(findings)
    for rule in found:
        if explain:
            for one in rule.findings:
                _say(console, name, one, one.text)
        elif rule.what != KEPT or everything:
            _say(console, name, rule.worst, _summary(rule), several=len(_alike(rule)) > 1)
    bad = sum(len(rule.broken(strict=strict)) for rule in found)
    whole = f"all {len(findings)} bounds hold" if len(findings) > 1 else "the bound holds"
    text = f"{bad} of {len(findings)} bounds do not hold" if bad else whole
    for what in IN_DOUBT:
        count = sum(
            one.what == what for rule in found if not rule.bad(strict=strict) for one in rule.findings
        )
        text += f"; {count} {COUNTED[what]}" if count else ""
    if not explain and any(rule.what != KEPT and len(rule.findings) > 1 for rule in found):
        text += "; --explain has every bound"
    console.print(Text(text, style="red" if bad else "green"))


def _say(console: Console, name: str, one: Finding, text: str, *, several: bool = False) -> None:
    asked, word = one.requirement, f"{WORD.get(one.what, one.what):<8} "
    where = f"{name}:{asked.line}: {asked.pattern} {asked.path}"
    where += "" if several or asked.bytes is None else f" at {format_size(asked.bytes)}"
    line = Text.assemble((word, STYLE.get(one.what, "red")), f"{where}: {text}")
    console.print(line, soft_wrap=True)


def _alike(rule: RuleOutcome) -> list[Finding]:
    return [one for one in rule.findings if one.what == rule.what]


def _summary(rule: RuleOutcome) -> str:
    """'7 of 28 bounds, 4 KiB to 1 MiB; the worst at 8 KiB: 12 us (...), at most 8 us; 2 more missing'."""
    alike, worst = _alike(rule), rule.worst
    text = worst.text
    if len(alike) > 1:
        sizes = sorted({size for one in alike if (size := one.requirement.bytes) is not None})
        ends = " to ".join(dict.fromkeys(format_size(size) for size in (*sizes[:1], *sizes[-1:])))
        text = f"{len(alike)} of {len(rule.findings)} bounds" + (f", {ends}" if ends else "")
        if rule.what != KEPT:
            at = f"{'the worst ' if worst.far else ''}at {ends and format_size(worst.requirement.bytes or 0)}"
            text += f"; {at if ends else 'one'}: {worst.text}"
    others = {what: sum(one.what == what for one in rule.findings) for what in COUNTED if what != rule.what}
    return "; ".join([text, *(f"{count} more {COUNTED[what]}" for what, count in others.items() if count)])
