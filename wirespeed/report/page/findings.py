"""What the doctor found, as its record in a result file has it: cost, how it is known, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts import figures
from wirespeed.report.page.sources import Source
from wirespeed.results.coerce import text
from wirespeed.results.findings import COSTS, Cost, Improvement, RecordedFinding
from wirespeed.units import format_size

_COSTS = [*COSTS]
"""Most expensive first."""


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
    gain: str = ""
    """The same without the conditions: '77.4 times as fast at 16 MiB'."""
    severe: bool = False
    """Whether something breaks, or costs twice the time."""
    refuted: bool = False
    """Whether the remedy was tried and did not help: then it is nothing to change."""


def findings(sources: Sequence[Source]) -> list[Found]:
    """Those of all files, each once, the most expensive first; without what a trial refuted."""
    return [one for one in _all(sources) if not one.refuted]


def refuted(sources: Sequence[Source]) -> list[Found]:
    """What the doctor suspected, until the trial of its remedy showed no improvement."""
    return [one for one in _all(sources) if one.refuted]


def _all(sources: Sequence[Source]) -> list[Found]:
    said = [one for source in sources for one in source.findings]
    said.sort(key=lambda one: _COSTS.index(one.measured_cost) if one.measured_cost in _COSTS else len(_COSTS))
    return [*{one.title: one for one in map(_found, reversed(said))}.values()][::-1]


def _found(said: RecordedFinding) -> Found:
    worth, cost = said.worth or Improvement(), text(said.measured_cost)
    useless = worth.verdict in ("worse", "same")
    gain = _gain(worth)
    return Found(
        title=text(said.title or "finding"),
        cost=COSTS.get(cost, cost),
        evidence=_lines(said.evidence),
        remedy=[] if useless else [*_lines(said.remedy), *_options(said)],
        worth=f"{text(worth.what)}: {gain}" if gain and worth.what else gain,
        gain=gain if worth.verdict == "better" else "",
        severe=cost in (Cost.BREAKS, Cost.HIGH),
        # What breaks is so, whatever became of a remedy.
        refuted=useless and said.cost != Cost.BREAKS,
    )


def _options(said: RecordedFinding) -> Iterator[str]:
    """Remedies of which one may help, with what came of each."""
    for one in said.options:
        yield f"# or: {text(one.title)}{f' ({text(one.outcome)})' if one.outcome else ''}"
        yield from _lines(one.lines)


def _lines(said: Sequence[str]) -> list[str]:
    return [line for one in said if (line := text(one, 1000))]


def _gain(worth: Improvement) -> str:
    """'9.72 times as fast at 1 GiB'."""
    best = worth.best
    if best is None or best.ratio is None:
        return ""
    times = figures.ratio(1 / best.ratio if worth.verdict == "worse" else best.ratio)
    return {
        "better": f"{times} times as fast at {format_size(best.bytes)}",
        "worse": f"{times} times as slow at {format_size(best.bytes)}: worse, not better, leave it as it is",
        "same": "no difference beyond the intervals",
    }[worth.verdict]
