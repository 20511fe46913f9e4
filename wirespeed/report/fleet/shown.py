"""What every form of a fleet's report has in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from wirespeed.fleet.drift import FleetDrift
from wirespeed.fleet.judge import FleetVerdict, Outlier, OutlierEvidence, exclude
from wirespeed.fleet.topology import Topology
from wirespeed.units import format_seconds


@dataclass(frozen=True)
class Shown:
    """A verdict on some days of a fleet, and how it came about."""

    folder: str
    begin: datetime
    end: datetime
    verdict: FleetVerdict
    topology: Topology
    least: float
    false_alarms: float
    drift: FleetDrift | None = None

    @property
    def nodes(self) -> int:
        """Nodes that have figures."""
        return len(self.verdict.distances)

    @property
    def answer(self) -> str:
        """'3 nodes and 1 switch of 5000 nodes are slow'."""
        kinds = Counter(one.kind for one in self.verdict.findings)
        if not kinds:
            return f"No node, GPU, link or switch of {self.nodes} nodes stands out"
        words = [counted(count, kind) for kind, count in kinds.items()]
        listed = " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
        verb = "is" if kinds.total() == 1 else "are"
        return f"{listed} {verb} slow, in a fleet of {counted(self.nodes, 'node')}"

    @property
    def judged(self) -> str:
        """'5000 nodes, 19988 links'."""
        return ", ".join(counted(count, kind) for kind, count in self.verdict.tested.items()) or "nothing"

    @property
    def days(self) -> str:
        """First and last day of the window."""
        return " to ".join(dict.fromkeys((f"{self.begin:%Y-%m-%d}", f"{self.end:%Y-%m-%d}")))

    @property
    def excluded(self) -> list[str]:
        """Nodes for a scheduler to leave out."""
        return exclude(self.verdict.findings)


def counted(count: int, kind: str) -> str:
    """'1 switch', '3 nodes'."""
    plural = "es" if kind.endswith("ch") else "s"
    return f"{count} {kind}{plural if count != 1 else ''}"


def with_partners(finding: Outlier, one: OutlierEvidence) -> str:
    """How a figure shows that this one is slow, and not another."""
    if one.slow_with is not None:
        return f"with {one.slow_with} of {one.partners} partners (some days, or cables)"
    if finding.kind == "node":
        return "alone" if one.partners is None else f"with each of {one.partners} partners"
    if finding.kind == "switch":
        return f"the median of its {counted(len(finding.nodes), 'node')}"
    if finding.kind == "link" and " - " in finding.name:
        return "more than its two ends explain"
    return "alone"


def times(one: OutlierEvidence) -> str:
    """'11.0 us, usually 10.0 us'."""
    return f"{format_seconds(one.seconds)}, usually {format_seconds(one.usual_s)}"
