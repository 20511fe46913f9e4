"""A finding: what is wrong, how it is known, what to do, and how much that improves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from wirespeed.host.process import span


class Cost(Enum):
    """What a fault costs, most expensive first. A measured improvement overrules the class of a rule."""

    BREAKS = "breaks"
    """Something crashes, is refused or gives no figure."""
    HIGH = "high"
    """Twice the time or more: a detour through host memory, or a slower link."""
    SOME = "some"
    """Up to twice the time, or only for some sizes or ranks."""
    SMALL = "small"
    """Noise, or a cost in special cases."""

    @property
    def order(self) -> int:
        return list(Cost).index(self)


TRIAL_SIZES = (8, 64 << 10, 16 << 20)
"""Bytes of the messages of a trial; the last size shows whether copies go through the host."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of a job step, as far as they differ from those of the command."""

    variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    """CPUs that ranks may use; empty: as it is."""
    mpi: str = ""
    """Prefix or mpiexec of an MPI; empty: the one chosen."""

    def words(self) -> str:
        """'UCX_TLS unset, CPUs 0-3'."""
        parts = [f"{name}={value}" for name, value in self.variables.items()]
        parts += [f"{name} unset" for name in self.unset]
        parts += [f"CPUs {span(self.cpus)}"] if self.cpus else []
        parts += [f"--mpi {self.mpi}"] if self.mpi else []
        return ", ".join(parts) or "as it is"


@dataclass(frozen=True)
class Trial:
    """How a remedy is tried safely: the same path before and after."""

    path: str
    sizes: tuple[int, ...]
    after: Conditions = Conditions()
    """Conditions with the remedy; with options, each option's own conditions instead."""
    before: Conditions = Conditions()
    left: str = ""
    """Path that remains where this one does not work at all."""


@dataclass(frozen=True)
class Point:
    """One message size before and after a remedy, in seconds; None: no figure."""

    bytes: int
    before: float | None
    after: float | None
    ratio: float | None = None
    """Time before / time after, and the ends of its 95 % interval."""
    low: float | None = None
    high: float | None = None

    @property
    def certain(self) -> bool:
        """Whether both differ beyond their intervals."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


@dataclass(frozen=True)
class Improvement:
    """The measured improvement of a remedy."""

    what: str
    """Path, and what differed: 'aware: UCX_TLS=tcp, then UCX_TLS unset'."""
    points: tuple[Point, ...] = ()
    measured: str = ""
    """'now', or the result file."""
    before: str = ""
    """Failure where there was no figure: 'crashed on a device pointer'."""
    after: str = ""

    @property
    def best(self) -> Point | None:
        """The size with the largest improvement, beyond the intervals if there is one."""
        known = (point for point in self.points if point.ratio is not None)
        return max(known, key=lambda point: (point.certain, point.ratio), default=None)

    @property
    def verdict(self) -> str:
        """better or worse (at some size, beyond the intervals), same (within them), or '' (no ratio)."""
        certain = [point.ratio or 0.0 for point in self.points if point.certain]
        if certain:
            return "better" if max(certain) > 1 else "worse"
        return "same" if self.best else ""


@dataclass(frozen=True)
class RemedyOption:
    """One of several remedies that may help: its conditions, and the outcome of its trial."""

    title: str
    setting: Conditions
    lines: tuple[str, ...] = ()
    """Shell lines."""
    instead: str = ""
    """Path that does the same work; empty: the same path."""
    source: str = ""
    outcome: str = ""
    """'works', or what went wrong; empty: not tried."""
    seconds: float | None = None


@dataclass(frozen=True)
class Finding:
    """One fault of a machine or of what is set."""

    key: str
    """Stable name for programs: 'mpi-not-aware'."""
    title: str
    cost: Cost
    evidence: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()
    """Shell lines, without a prompt; an explanation follows a '#'."""
    worth: Improvement | None = None
    trial: Trial | None = None
    options: tuple[RemedyOption, ...] = ()
    """Remedies of which one may help, in the order of trial."""
    source: str = ""
    """Origin of the rule."""
    suggestion: bool = False
    """Whether only a trial can decide that the remedy helps."""

    @property
    def sure(self) -> bool:
        """Whether the remedy should be applied as it stands."""
        better = self.worth is not None and self.worth.verdict == "better"
        return not self.options and (better or not self.suggestion)

    def to_dict(self) -> dict[str, Any]:
        """For the result file and --json."""
        data = dataclasses.asdict(dataclasses.replace(self, trial=None))
        return {key: value for key, value in data.items() if key != "trial"} | {
            "cost": measured_cost(self).value
        }


def ordered(findings: list[Finding]) -> list[Finding]:
    """Most expensive first; within a class, the largest measured improvement first."""
    return sorted(findings, key=lambda one: (measured_cost(one).order, -_ratio(one)))


def _ratio(finding: Finding) -> float:
    best = finding.worth.best if finding.worth else None
    return best.ratio or 0.0 if best else 0.0


def measured_cost(finding: Finding) -> Cost:
    """The class by the measured improvement; the rule's own where nothing was measured."""
    best = finding.worth.best if finding.worth else None
    if best is None or best.ratio is None or not best.certain or finding.cost is Cost.BREAKS:
        return finding.cost
    return Cost.HIGH if best.ratio >= 2 else Cost.SOME if best.ratio >= 1.1 else Cost.SMALL
