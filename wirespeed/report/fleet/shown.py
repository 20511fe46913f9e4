"""What every form of a fleet's report has in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from wirespeed.fleet.drift import FleetDrift
from wirespeed.fleet.judge import FleetVerdict, Outlier, OutlierEvidence, exclude
from wirespeed.fleet.state import SilentNode
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
    silent: Sequence[SilentNode] = ()
    """Nodes that fell silent while they were measured."""
    unjudged: Collection[str] = ()
    """Nodes without a figure that counts, because their ranks waited for CPUs."""

    @property
    def nodes(self) -> int:
        """Nodes that have figures."""
        return len(self.verdict.distances)

    @property
    def answer(self) -> str:
        """'3 nodes and 1 switch of 5000 nodes are slow'."""
        kinds = Counter(one.kind for one in self.verdict.findings)
        count = len({one.node for one in self.silent})
        silent = f"{counted(count, 'node')} fell silent" if count else ""
        if not kinds:
            sound = f"no node, GPU, link or switch of {counted(self.nodes, 'node')} stands out"
            return f"{silent}; {sound}" if silent else f"N{sound[1:]}"
        words = [counted(count, kind) for kind, count in kinds.items()]
        listed = " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
        verb = "is" if kinds.total() == 1 else "are"
        slow = f"{listed} {verb} slow, in a fleet of {counted(self.nodes, 'node')}"
        return f"{silent}; {slow}" if silent else slow

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
        return sorted({*exclude(self.verdict.findings), *(one.node for one in self.silent)})

    @property
    def sound(self) -> bool:
        """Whether nothing is slow or silent, or became slower."""
        slow = self.verdict.findings or (self.drift and self.drift.verdict.findings)
        return not slow and not self.silent

    @property
    def silences(self) -> list[str]:
        """'silent: n3, in round 2 of 8 (...)'."""
        return [f"silent: {one.node}, since {one.part}: {one.why}" for one in self.silent]


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
