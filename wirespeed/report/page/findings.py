"""What the doctor found, as its record in a result file has it: cost, how it is known, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.report import words
from wirespeed.report.clean import count, number, record, records, text
from wirespeed.report.page.sources import Source
from wirespeed.units import format_size

COSTS = {
    "breaks": "something breaks or is refused",
    "high": "twice the time or more",
    "some": "up to twice the time, or at some sizes only",
    "small": "little, or only in special cases",
}
"""Classes of cost; any other word is shown as it is."""


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
    """Those of all files, in the order in which the doctor gave them: dearest first."""
    return [_found(one) for source in sources for one in source.findings]


def _found(said: dict[str, Any]) -> Found:
    cost = text(said.get("cost") or "")
    return Found(
        title=text(said.get("title") or "finding"),
        cost=COSTS.get(cost, cost),
        evidence=_lines(said.get("evidence")),
        remedy=_lines(said.get("remedy")),
        worth=_worth(record(said.get("worth"))),
    )


def _lines(said: Any) -> list[str]:
    """A text or a list of texts."""
    given = said if isinstance(said, list) else [said]
    return [line for one in given if one is not None and (line := text(one, 1000))]


def _worth(said: dict[str, Any]) -> str:
    """'aware, UCX_TLS unset: 9.72 times at 1 GiB'."""
    known = [(ratio, point) for point in records(said.get("points")) if (ratio := number(point.get("ratio")))]
    if not known:
        return ""
    ratio, point = max(known, key=lambda one: one[0])
    what = text(said.get("what") or "")
    figure = f"{words.ratio(ratio)} times at {format_size(count(point.get('bytes')))}"
    return f"{what}: {figure}" if what else figure
