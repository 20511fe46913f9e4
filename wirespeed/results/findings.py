"""A finding of the doctor, as rules give it, people see it and result files hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from wirespeed.host.process import span
from wirespeed.results.parts import Amount, Rate, Share, Whole


class Cost:
    """Cost of a fault. A measured improvement overrules the class of a rule."""

    BREAKS = "breaks"
    """Something crashes, is refused or gives no figure."""
    HIGH = "high"
    """Twice the time or more: a detour through host memory, or a slower link."""
    SOME = "some"
    """Up to twice the time, or only for some sizes or ranks."""
    SMALL = "small"
    """Noise, or a cost in special cases."""


COSTS = {
    Cost.BREAKS: "something breaks or is refused",
    Cost.HIGH: "twice the time or more",
    Cost.SOME: "up to twice the time, or at some sizes only",
    Cost.SMALL: "little, or only in special cases",
}
"""Most expensive first, in words."""


class Conditions(Struct, frozen=True):
    """The conditions of a job step, as far as they differ from those of the command."""

    variables: Mapping[str, str] = {}
    unset: Sequence[str] = ()
    cpus: Sequence[int] = ()
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


AS_IT_IS = Conditions()
NOTABLE = 1.25
"""Ratio below which a difference may be noise of the machine, and is not worth a change of settings."""


class RemedyPoint(Struct, frozen=True):
    """One message size before and after a remedy, in seconds; null: no figure."""

    bytes: Whole = 0
    before: Amount | None = None
    after: Amount | None = None
    ratio: Rate | None = None
    """Time before / time after, and the ends of its 95 % interval."""
    low: Share | None = None
    high: Share | None = None

    @property
    def certain(self) -> bool:
        """True where both differ beyond their intervals."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


class Improvement(Struct, frozen=True):
    """The measured improvement of a remedy."""

    what: str = ""
    """Path, and what differed: 'aware: UCX_TLS=tcp, then UCX_TLS unset'."""
    points: Sequence[RemedyPoint] = ()
    measured: str = ""
    """'now', or the result file."""
    before: str = ""
    """Failure where there was no figure: 'crashed on a device pointer'."""
    after: str = ""

    @property
    def best(self) -> RemedyPoint | None:
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

    @property
    def most(self) -> float | None:
        """The largest ratio that the intervals leave possible; null: there are none."""
        ends = [point.high for point in self.points if point.ratio is not None]
        return max((end for end in ends if end is not None), default=None) if None not in ends else None

    @property
    def useless(self) -> bool:
        """True where it was worse, or no different within intervals that exclude a gain worth having."""
        most = self.most
        return self.verdict == "worse" or (self.verdict == "same" and most is not None and most < NOTABLE)


class RemedyOption(Struct, frozen=True):
    """One of several remedies that may help: its conditions, and the outcome of its trial."""

    title: str = ""
    setting: Conditions = AS_IT_IS
    lines: Sequence[str] = ()
    """Shell lines."""
    instead: str = ""
    """Path that does the same work; empty: the same path."""
    source: str = ""
    outcome: str = ""
    """'works', or what went wrong; empty: not tried."""
    seconds: Amount | None = None


class RecordedFinding(Struct, frozen=True):
    """One fault of a machine or of what is set."""

    key: str = ""
    """Stable name for programs: 'mpi-not-aware'."""
    title: str = "finding"
    cost: str = ""
    """breaks, high, some or small."""
    evidence: Sequence[str] = ()
    remedy: Sequence[str] = ()
    """Shell lines, without a prompt; an explanation follows a '#'."""
    worth: Improvement | None = None
    options: Sequence[RemedyOption] = ()
    """Remedies of which one may help, in the order of trial."""
    source: str = ""
    """Origin of the rule."""
    suggestion: bool = False
    """true: only a trial can decide that the remedy helps."""

    @property
    def best(self) -> RemedyPoint | None:
        """The size with the largest measured improvement, if anything was measured."""
        return self.worth.best if self.worth else None

    @property
    def sure(self) -> bool:
        """True where the remedy should be applied as it stands."""
        better = self.worth is not None and self.worth.verdict == "better"
        return not self.options and (better or not self.suggestion)

    @property
    def refuted(self) -> bool:
        """True where measurements with and without the remedy exclude a gain: it is then no finding."""
        return self.worth is not None and self.worth.useless and self.cost != Cost.BREAKS

    @property
    def measured_cost(self) -> str:
        """The class by the measured improvement; the rule's own where nothing was measured."""
        best = self.best
        if best is None or best.ratio is None or not best.certain or self.cost == Cost.BREAKS:
            return self.cost
        return Cost.HIGH if best.ratio >= 2 else Cost.SOME if best.ratio >= 1.1 else Cost.SMALL
