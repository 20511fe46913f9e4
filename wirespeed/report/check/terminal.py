"""A check on a terminal or in a job's log: one line for each bound that does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from wirespeed.report.check.evaluate import DOUBTFUL, FAILED, KEPT, MISSING, UNKNOWN, Finding
from wirespeed.units import format_size

STYLE = {DOUBTFUL: "yellow", KEPT: "dim"}
WORD = {FAILED: "FAILED", MISSING: "MISSING", UNKNOWN: "UNKNOWN", KEPT: "ok"}


def print_findings(
    console: Console, name: str, findings: Sequence[Finding], *, strict: bool, everything: bool
) -> None:
    """One line each, never folded, so that a log can be searched; then how many there were.

    'FAILED   site.toml:12: pingpong aware at 1 GiB: 351 GB/s (348 to 353), at least 380 GB/s wanted'
    """
    for finding in findings:
        if finding.what != KEPT or everything:
            one, word = finding.requirement, f"{WORD.get(finding.what, finding.what):<9}"
            size = "" if one.bytes is None else f" at {format_size(one.bytes)}"
            where = f"{name}:{one.line}: {one.pattern} {one.path}{size}"
            line = Text.assemble((word, STYLE.get(finding.what, "red")), f"{where}: {finding.text}")
            console.print(line, soft_wrap=True)
    bad = sum(finding.bad(strict=strict) for finding in findings)
    doubtful = sum(finding.what == DOUBTFUL for finding in findings)
    text = f"{bad} of {len(findings)} bounds do not hold" if bad else f"all {len(findings)} bounds hold"
    if doubtful and not strict:
        text += f"; {doubtful} in doubt: the 95 % interval reaches the bound"
    console.print(Text(text, style="red" if bad else "green"))
