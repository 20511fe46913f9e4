"""What the doctor found, as its record in a result file has it: cost, how it is known, what to do."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Those of all files, in the order in which the doctor gave them: the most expensive first."""
    return [_found(one) for source in sources for one in source.findings]


def _found(said: RecordedFinding) -> Found:
    worth, cost = said.worth or Improvement(), text(said.measured_cost)
    # What was tried and did not help is nothing to do.
    useless = worth.verdict in ("worse", "same")
    return Found(
        title=text(said.title or "finding"),
        cost=COSTS.get(cost, cost),
        evidence=_lines(said.evidence),
        remedy=[] if useless else [*_lines(said.remedy), *_options(said)],
        worth=_worth(worth),
    )


def _options(said: RecordedFinding) -> list[str]:
    """Remedies of which one may help, with what came of each."""
    lines = []
    for one in said.options:
        lines.append(f"# or: {text(one.title)}{f' ({text(one.outcome)})' if one.outcome else ''}")
        lines += _lines(one.lines)
    return lines


def _lines(said: Sequence[str]) -> list[str]:
    return [line for one in said if (line := text(one, 1000))]


def _worth(worth: Improvement) -> str:
    """'aware, UCX_TLS unset: 9.72 times as fast at 1 GiB'."""
    best = worth.best
    if best is None or best.ratio is None:
        return ""
    where = format_size(best.bytes)
    if worth.verdict == "better":
        figure = f"{figures.ratio(best.ratio)} times as fast at {where}"
    elif worth.verdict == "worse":
        figure = (
            f"{figures.ratio(1 / best.ratio)} times as slow at {where}: worse, not better, leave it as it is"
        )
    else:
        figure = "no difference beyond the intervals"
    return f"{worth.what}: {figure}" if worth.what else figure
