"""What the doctor found, as its record in a result file has it: cost, how it is known, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts import figures
from wirespeed.report.page.sources import Source
from wirespeed.results.coerce import text
from wirespeed.results.findings import COSTS, Improvement, RecordedFinding
from wirespeed.units import format_size


@dataclass(frozen=True)
class Found:
    """One finding, in texts."""

    title: str
    cost: str
    evidence: list[str]
    remedy: list[str]
    """Lines for a shell."""
    worth: str = ""
    """As measured: the ratio where it is largest."""


def findings(sources: Sequence[Source]) -> list[Found]:
    """Those of all files, as the doctor ordered them; the last one is all that trials refuted."""
    said = [one for source in sources for one in source.findings]
    refuted = [f"{text(one.title)} ({_worth(one.worth)})" for one in said if one.refuted and one.worth]
    tried = [Found("Tried, and nothing gained", "none", refuted, [])] if refuted else []
    return [_found(one) for one in said if not one.refuted] + tried


def _found(said: RecordedFinding) -> Found:
    worth, cost = said.worth or Improvement(), text(said.measured_cost)
    return Found(
        title=text(said.title or "finding"),
        cost=COSTS.get(cost, cost),
        evidence=_lines(said.evidence),
        remedy=[*_lines(said.remedy), *_options(said)],
        worth=_worth(worth),
    )


def _options(said: RecordedFinding) -> Iterator[str]:
    """Remedies of which one may help, with what came of each."""
    for one in said.options:
        yield f"# or: {text(one.title)}{f' ({text(one.outcome)})' if one.outcome else ''}"
        yield from _lines(one.lines)


def _lines(said: Sequence[str]) -> list[str]:
    return [line for one in said if (line := text(one, 1000))]


def _worth(worth: Improvement) -> str:
    """'aware, UCX_TLS unset: 9.72 times as fast at 1 GiB'."""
    best = worth.best
    if best is None or best.ratio is None:
        return ""
    times = figures.ratio(1 / best.ratio if worth.verdict == "worse" else best.ratio)
    figure = {
        "better": f"{times} times as fast at {format_size(best.bytes)}",
        "worse": f"{times} times as slow at {format_size(best.bytes)}: worse, not better, leave it as it is",
        "same": "no difference beyond the intervals",
    }[worth.verdict]
    return f"{worth.what}: {figure}" if worth.what else figure
