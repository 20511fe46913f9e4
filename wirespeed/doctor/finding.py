"""A finding: what is wrong, how it is known, what to do, and what that is worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Cost(Enum):
    """What a fault costs, dearest first. A measured worth overrules the class that a rule gives."""

    BREAKS = "breaks"
    """Something crashes, is refused or gives no figure."""
    HIGH = "high"
    """Twice the time or more: a detour through host memory, or a slower wire."""
    SOME = "some"
    """Up to twice the time, or only for some sizes or ranks."""
    SMALL = "small"
    """Noise, or a cost in special cases."""

    @property
    def order(self) -> int:
        return list(Cost).index(self)


@dataclass(frozen=True)
class Conditions:
    """Circumstances of a job step: what differs from those in which the command was started."""

    variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    """The only CPUs that ranks may use; empty: as it is."""
    mpi: str = ""
    """An MPI's prefix or mpiexec; empty: the one chosen."""

    def words(self) -> str:
        """'UCX_TLS unset, CPUs 0-3'."""
        parts = [f"{name}={value}" for name, value in self.variables.items()]
        parts += [f"{name} unset" for name in self.unset]
        parts += [f"CPUs {span(self.cpus)}"] if self.cpus else []
        parts += [f"--mpi {self.mpi}"] if self.mpi else []
        return ", ".join(parts) or "as it is"


@dataclass(frozen=True)
class Trial:
    """How a remedy can be tried safely: the same path before and after."""

    path: str
    sizes: tuple[int, ...]
    after: Conditions = Conditions()
    """With options: each option's own setting instead."""
    before: Conditions = Conditions()
    left: str = ""
    """The path that one is left with, where this one does not work at all."""


@dataclass(frozen=True)
class Point:
    """One size, before and after, in seconds; None where there was no figure."""

    bytes: int
    before: float | None
    after: float | None
    ratio: float | None = None
    """How many times longer it takes before the remedy; with the ends of its 95 % interval."""
    low: float | None = None
    high: float | None = None

    @property
    def certain(self) -> bool:
        """Do both differ beyond their intervals?"""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


@dataclass(frozen=True)
class Improvement:
    """What a remedy is worth, as measured."""

    what: str
    """The path, and what differed: 'aware: UCX_TLS=tcp, then UCX_TLS unset'."""
    points: tuple[Point, ...] = ()
    measured: str = ""
    """'now', or the result file."""
    before: str = ""
    """What became of it where there was no figure: 'crashed on a device pointer'."""
    after: str = ""

    @property
    def best(self) -> Point | None:
        """The size at which it is worth most, beyond the intervals if it is so at any."""
        known = [point for point in self.points if point.ratio is not None]
        return max(known, key=lambda point: (point.certain, point.ratio or 0.0), default=None)

    @property
    def verdict(self) -> str:
        """better or worse (at some size, beyond the intervals), same (they do not tell), or '' (no ratio)."""
        known = [point for point in self.points if point.ratio is not None]
        certain = [point.ratio or 0.0 for point in known if point.certain]
        if any(ratio > 1 for ratio in certain):
            return "better"
        return "worse" if certain else "same" if known else ""


@dataclass(frozen=True)
class RemedyOption:
    """One of several remedies that may help: what is set, and what came of it."""

    title: str
    setting: Conditions
    lines: tuple[str, ...] = ()
    """For a shell."""
    instead: str = ""
    """Another path that does the same work; empty: the same one."""
    source: str = ""
    outcome: str = ""
    """'works', or what went wrong; empty: not tried."""
    seconds: float | None = None


@dataclass(frozen=True)
class Finding:
    """One fault of a machine or of what is set."""

    key: str
    """Stable, for programs: 'mpi-not-aware'."""
    title: str
    cost: Cost
    evidence: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()
    """Shell lines; '$ ' is not written. What needs a word of explanation has it behind a '#'."""
    worth: Improvement | None = None
    trial: Trial | None = None
    options: tuple[RemedyOption, ...] = ()
    """Remedies of which one may help, in the order in which to try them."""
    source: str = ""
    """Where the rule comes from."""
    suggestion: bool = False
    """It may help or not: only a trial can tell."""

    @property
    def sure(self) -> bool:
        """Should the remedy be applied as it stands?"""
        better = self.worth is not None and self.worth.verdict == "better"
        return not self.options and (better or not self.suggestion)

    def to_dict(self) -> dict[str, Any]:
        """For the result file and --json."""
        data = dataclasses.asdict(dataclasses.replace(self, trial=None))
        del data["trial"]
        data["cost"] = measured_cost(self).value
        return data


def ordered(findings: list[Finding]) -> list[Finding]:
    """Dearest first; among alike ones, those with the greatest measured worth."""

    def key(finding: Finding) -> tuple[int, float]:
        best = finding.worth.best if finding.worth else None
        ratio = best.ratio if best and best.ratio else 0.0
        return measured_cost(finding).order, -ratio

    return sorted(findings, key=key)


def measured_cost(finding: Finding) -> Cost:
    """The class that a measured worth gives; the rule's own where nothing was measured."""
    best = finding.worth.best if finding.worth else None
    if best is None or best.ratio is None or not best.certain or finding.cost is Cost.BREAKS:
        return finding.cost
    return Cost.HIGH if best.ratio >= 2 else Cost.SOME if best.ratio >= 1.1 else Cost.SMALL


def span(numbers: tuple[int, ...]) -> str:
    """'0-3,8'."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)
