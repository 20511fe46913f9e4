"""A check on a terminal or in a job's log, a line for each rule that does not hold; and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from wirespeed.grouping import grouped, size_ranges
from wirespeed.report.cannot_tell import CANNOT_TELL, slowdowns
from wirespeed.report.check.evaluate import FAILED, KEPT, MISSING, BoundOutcome, RuleOutcome, rules
from wirespeed.report.check.requirements import MEDIAN, Requirement
from wirespeed.report.facts.summary import Answer
from wirespeed.results.runs import IMPOSSIBLE
from wirespeed.units import format_size

STYLE = {CANNOT_TELL: "yellow", KEPT: "dim"}
WORD = {FAILED: "FAILED", IMPOSSIBLE: "IMPOSSIBLE", MISSING: "MISSING", KEPT: "ok"}
COUNTED = {MISSING: "missing", CANNOT_TELL: "cannot be told"}


def print_findings(
    console: Console,
    name: str,
    findings: Sequence[BoundOutcome],
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
            for finding in rule.findings:
                _say(console, name, finding, finding.text)
        elif rule.what != KEPT or everything:
            _say(console, name, rule.worst, _summary(rule), several=len(_alike(rule)) > 1)
    bad = sum(len(rule.broken(strict=strict)) for rule in found)
    unsure = 0 if strict else sum(len(rule.unjudged) for rule in found)
    text = _counted(len(findings), bad, unsure)
    for would in _would_be_found(findings):
        console.print(Text(would, style="dim"), soft_wrap=True)
    if not explain and any(rule.what != KEPT and len(rule.findings) > 1 for rule in found):
        text += "; --explain has every bound"
    console.print(Text(text, style="red" if bad else "yellow" if unsure else "green"), soft_wrap=True)


def _counted(bounds: int, bad: int, unsure: int) -> str:
    """'all 8 bounds hold', '1 of 8 bounds does not hold; cannot tell: 3'."""
    if bounds == 1:
        holds = "does not hold" if bad else "holds"
        return f"{CANNOT_TELL} whether the bound holds" if unsure else f"the bound {holds}"
    told = f"; {CANNOT_TELL}: {unsure}" if unsure else ""
    if bad:
        return f"{bad} of {bounds} bounds {'does' if bad == 1 else 'do'} not hold{told}"
    return (f"{bounds - unsure} of" if unsure else "all") + f" {bounds} bounds hold{told}"


def _would_be_found(findings: Sequence[BoundOutcome]) -> Iterator[str]:
    """'against the usual, 9 times in 10 this finds a figure that became 8.1 % slower'.

    Bounds whose figures' spread is not known have a line of their own.
    """
    known = [
        (finding.requirement.spread is not None, (finding.smallest, _subject(finding.requirement)))
        for finding in findings
        if finding.smallest is not None
    ]
    for has_spread, found in sorted(grouped(known).items(), reverse=True):
        start = "against the usual" if has_spread else "if launches differ no more than their intervals"
        yield f"{start}, {slowdowns('a figure', found)}"


def _subject(asked: Requirement) -> str:
    if asked.bound.kind == MEDIAN:
        return f"{asked.path} at {asked.group or 'all'} messages"
    return f"{asked.path} at {format_size(asked.bytes or 0)}"


def _say(console: Console, name: str, finding: BoundOutcome, text: str, *, several: bool = False) -> None:
    asked, word = finding.requirement, f"{WORD.get(finding.what, finding.what):<8} "
    where = f"{name}:{asked.line}: {asked.name}"
    where += "" if several or asked.bytes is None else f" at {format_size(asked.bytes)}"
    line = Text.assemble((word, STYLE.get(finding.what, "red")), f"{where}: {text}")
    console.print(line, soft_wrap=True)


def _alike(rule: RuleOutcome) -> list[BoundOutcome]:
    return [finding for finding in rule.findings if finding.what == rule.what]


def _summary(rule: RuleOutcome) -> str:
    """'7 of 28 bounds, 4 KiB to 1 MiB; the worst at 8 KiB: 12 us (...), at most 8 us; 2 more missing'."""
    alike, worst = _alike(rule), rule.worst
    text = worst.text
    if len(alike) > 1:
        sizes = {size for finding in alike if (size := finding.requirement.bytes) is not None}
        ends = (
            size_ranges(sizes, [finding.requirement.bytes or 0 for finding in rule.findings]) if sizes else ""
        )
        text = f"{len(alike)} of {len(rule.findings)} bounds" + (f", {ends}" if ends else "")
        if rule.what != KEPT:
            at = f"{'the worst ' if worst.far else ''}at {ends and format_size(worst.requirement.bytes or 0)}"
            text += f"; {at if ends else 'one'}: {worst.text}"
    others = {
        what: sum(finding.what == what for finding in rule.findings) for what in COUNTED if what != rule.what
    }
    return "; ".join([text, *(f"{count} more {COUNTED[what]}" for what, count in others.items() if count)])


def to_json(findings: Sequence[BoundOutcome], told: Answer) -> str:
    """The answer of the runs, and `checks`, with an object a line; `what` is one of evaluate.WHATS."""
    lines = []
    for finding in findings:
        asked = finding.requirement
        facts = {name: getattr(asked, name) for name in ("line", "rule", "pattern", "path", "bytes")}
        outcome = {name: getattr(finding, name) for name in ("what", "once", "text")}
        lines.append(json.dumps(facts | {"bound": asked.bound.text} | outcome))
    summary = msgspec.json.format(msgspec.json.encode(told), indent=1).decode()
    return '{{"summary": {},\n"checks": [\n{}\n]}}'.format(summary, ",\n".join(lines))
