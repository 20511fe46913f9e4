"""Cost of MPI itself: its time for a message, less that of the UCX under it called directly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.report.facts.markers import doubts, sign
from wirespeed.results.runs import Run
from wirespeed.statistics.samples import difference_interval
from wirespeed.units import format_seconds

UNDER = {"host": "ucx-host", "aware": "ucx"}
"""Paths over an MPI, and the same without it where the MPI runs over UCX."""


@dataclass(frozen=True)
class Added:
    """Seconds that MPI adds to a message; the ends of the 95 % interval, where both figures have one."""

    seconds: float
    low: float | None = None
    high: float | None = None
    mark: str = ""
    """Marks of the two figures."""

    @property
    def half(self) -> float | None:
        """From the difference to the interval's farther end, in seconds."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.seconds, self.seconds - self.low)

    @property
    def certain(self) -> bool:
        """True where the figures differ by more than that."""
        return self.half is not None and self.half < abs(self.seconds)

    plain = certain

    @property
    def words(self) -> str:
        """'-1.20 us'."""
        return difference(self.seconds)

    @property
    def spread(self) -> str:
        """'±32 ns'; nothing without an interval."""
        return "" if self.half is None else f"±{difference(self.half)}"


@dataclass(frozen=True)
class MpiCost:
    """A path over MPI, and UCX's own."""

    path: str
    bare: str

    def added(self, run: Run, size: int) -> Added | None:
        """None where one of the two has no figure."""
        own, bare = run.entries.get((self.path, size)), run.entries.get((self.bare, size))
        if own is None or bare is None:
            return None
        mark = doubts(sign(run, own), sign(run, bare))
        if None in (own.precision, bare.precision):
            return Added(own.seconds - bare.seconds, mark=mark)
        times = [(entry.seconds, entry.low, entry.high) for entry in (own, bare)]
        return Added(*difference_interval(*times), mark=mark)


def difference(seconds: float) -> str:
    """'32 ns', '-1.20 us'."""
    size = abs(seconds)
    text = f"{size * 1e9:.0f} ns" if size < 0.9995e-6 else format_seconds(size)
    return f"-{text}" if seconds < 0 and text != "0 ns" else text


def costs(run: Run) -> list[MpiCost]:
    """Every path whose MPI is known to have run over UCX, and that UCX was measured too."""
    return [cost for cost, reason in _all(run) if reason is None]


def unknown(run: Run) -> list[tuple[MpiCost, str]]:
    """The other paths of which UCX's own was measured, and why the difference is not MPI's."""
    return [(cost, reason) for cost, reason in _all(run) if reason]


def _all(run: Run) -> Iterator[tuple[MpiCost, str | None]]:
    for path, bare in UNDER.items():
        if {path, bare} <= set(run.paths):
            yield MpiCost(path, bare), _why_not(run, path, bare)


def _why_not(run: Run, path: str, bare: str) -> str | None:
    step_record, other = run.step(path), run.step(bare)
    if not step_record.mpi or not other.mpi or step_record.mpi.library != other.mpi.library:
        return f"the two were measured beside different MPIs, {path} and {bare}"
    if step_record.variables != other.variables:
        return "the two were measured with different variables"
    if layer := step_record.details.get("pml"):
        return None if layer == "ucx" else f"Open MPI moved bytes by {layer}, not UCX (OMPI_MCA_pml=ucx)"
    variables = run.head.environment.variables | step_record.variables
    if variables.get("MPIR_CVAR_CH4_NETMOD") == "ucx" and variables.get("MPIR_CVAR_NOLOCAL") == "1":
        return None
    return f"the MPI ({step_record.mpi.vendor}) does not say that it moved bytes by UCX"
