"""The doctor's findings, as its record in a result file has them: cost, how it is known, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts import figures
from wirespeed.results.coerce import text
from wirespeed.results.findings import COSTS, Cost, Improvement, RecordedFinding, RemedyPoint
from wirespeed.units import format_size

WORSE = "worse, not better: leave it as it is"


@dataclass(frozen=True)
class FindingTexts:
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
    """Something breaks, or costs twice the time."""


def findings(recorded: Iterable[RecordedFinding], *, refuted: bool = False) -> list[FindingTexts]:
    """Each once, the most expensive first, without what a trial refuted; `refuted`: those alone."""
    said = [finding for finding in recorded if finding.refuted is refuted]
    costs = [*COSTS]
    said.sort(key=lambda finding: [*costs, finding.measured_cost].index(finding.measured_cost))
    found: dict[str, FindingTexts] = {}
    for finding in said:
        new = _texts(finding)
        found.setdefault(new.title, new)
    return [*found.values()]


def _texts(finding: RecordedFinding) -> FindingTexts:
    worth, cost = finding.worth or Improvement(), text(finding.measured_cost)
    gain = _gain(worth)
    return FindingTexts(
        title=text(finding.title or "finding"),
        cost=COSTS.get(cost, cost),
        evidence=_lines(finding.evidence),
        remedy=[*_lines(finding.remedy), *_options(finding)],
        worth=f"{text(worth.what)}: {gain}" if gain and worth.what else gain,
        gain=gain if worth.verdict == "better" else "",
        severe=cost in (Cost.BREAKS, Cost.HIGH),
    )


def _options(said: RecordedFinding) -> Iterator[str]:
    """Remedies of which one may help, with what came of each."""
    for option in said.options:
        yield f"# or: {text(option.title)}{f' ({text(option.outcome)})' if option.outcome else ''}"
        yield from _lines(option.lines)


def _lines(said: Sequence[str]) -> list[str]:
    return [line for name in said if (line := text(name, 1000))]


def _gain(worth: Improvement) -> str:
    """'9.72 times as fast at 1 GiB'."""
    best = worth.best
    if best is None or best.ratio is None:
        return ""
    same = "no difference beyond the intervals"
    return {"better": times(best), "worse": f"{times(best)}: {WORSE}", "same": same}[worth.verdict]


def times(point: RemedyPoint) -> str:
    """'9.72 times as fast at 1 GiB', or as slow."""
    size = format_size(point.bytes)
    if point.ratio is None:
        return f"no ratio at {size}"
    how = "fast" if point.ratio >= 1 else "slow"
    return f"{figures.ratio(max(point.ratio, 1 / point.ratio))} times as {how} at {size}"
