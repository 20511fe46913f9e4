"""Two paths that differ by one thing: how many times longer it takes without, or by how much time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import AS_FAST, NO_INTERVAL, TIMES, biased, doubts, sign
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import difference_interval, ratio_interval
from wirespeed.units import format_seconds, format_size

SWITCHES = (
    "MPICH_GPU_IPC_ENABLED",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_P2P_DISABLE",
    "UCX_IB_GPU_DIRECT_RDMA",
    "UCX_TLS",
)
"""Variables that are known to switch off GPUDirect."""
UNKNOWN = "gain"
NOTABLE = 1.02
"""Ratio from which on it is worth a line."""
UNDER = {"host": "ucx-host", "aware": "ucx"}
"""Paths over an MPI, and the same without it where the MPI runs over UCX."""


@dataclass(frozen=True)
class Worth:
    """Ratio of the time without to the time with; the ends of its 95 % interval, if both figures have one."""

    value: float
    low: float | None = None
    high: float | None = None
    mark: str = ""
    """Marks of the two figures."""
    fixed: bool = False
    """Means of a fixed count: nobody asked for an interval."""

    @property
    def half(self) -> float | None:
        """From the value to the interval's farther end."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.value, self.value - self.low)

    @property
    def share(self) -> float | None:
        """Half the interval's width as a share of the value."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2 / self.value

    @property
    def certain(self) -> bool:
        """True where the figures differ beyond their intervals."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def words(self) -> str:
        """'8.98'."""
        return figures.ratio(self.value)

    @property
    def spread(self) -> str:
        """'±0.4 %'."""
        return figures.spread(self.share)

    @property
    def doubt(self) -> tuple[str, str]:
        """Signs before and behind its words: the figures' marks; that it is no sure difference."""
        if self.certain or self.fixed:
            return self.mark, ""
        return biased(self.mark), NO_INTERVAL if self.low is None else AS_FAST


class Added(Worth):
    """Seconds that one takes more than the other."""

    @property
    def certain(self) -> bool:
        return self.half is not None and self.half < abs(self.value)

    @property
    def words(self) -> str:
        """'-1.20 us'."""
        return difference(self.value)

    @property
    def spread(self) -> str:
        """'±32 ns'; nothing without an interval."""
        return "" if self.half is None else f"±{difference(self.half)}"


class Contrast(NamedTuple):
    """A comparison of two paths, as tables have it."""

    what: str
    """What the other one lacks: 'GPUDirect', 'gain' where that is not known; 'MPI adds'."""
    path: str
    other: str
    """The path without it."""
    why_not: str = ""
    """Why the two cannot be compared."""
    adds: bool = False
    """Told as a difference of times instead of their ratio."""

    @property
    def unit(self) -> str:
        return "" if self.adds else TIMES

    def of(self, run: Run, size: int) -> Worth | None:
        """Its figure at a size; None where one of the paths has none."""
        own, other = run.entries.get((self.path, size)), run.entries.get((self.other, size))
        if own is None or other is None:
            return None
        return compared(run, own, run, other, adds=self.adds)


def compared(run: Run, own: Entry, other_run: Run, other: Entry, *, adds: bool = False) -> Worth:
    """The other figure's time over its own; `adds`: its own time less the other's."""
    mark, sure = doubts(sign(run, own), sign(other_run, other)), None not in (own.precision, other.precision)
    mine, theirs = ((entry.seconds, entry.low, entry.high) for entry in (own, other))
    if adds and sure:
        return Added(*difference_interval(mine, theirs), mark)
    if adds:
        return Added(own.seconds - other.seconds, mark=mark)
    if sure:
        return Worth(*ratio_interval(theirs, mine), mark)
    return Worth(other.seconds / own.seconds, mark=mark, fixed=own.stopped == other.stopped == "fixed")


def contrasts(run: Run) -> list[Contrast]:
    """All that can be compared: ratios first, in table order."""
    return [*pairs(run), *(cost for cost in costs(run) if not cost.why_not)]


def pairs(run: Run) -> list[Contrast]:
    """Those of paths with something switched off."""
    return [pair for pair in _pairs(run) if not pair.why_not]


def incomparable(run: Run) -> list[tuple[str, str]]:
    """Each path whose ratio would say nothing, and why."""
    return [(pair.other, pair.why_not) for pair in _pairs(run) if pair.why_not]


def most(run: Run) -> Iterator[tuple[str, str]]:
    """('aware without GPUDirect (aware-nogdr)', 'takes up to 8.98 times as long (at 1 GiB)').

    Where it is faster without: ', but is up to 6.52 times as fast (at 64 KiB)' behind it, or alone.
    """
    for pair in pairs(run):
        worths = [(size, worth) for size in run.sizes if (worth := pair.of(run, size)) and worth.certain]
        worths.sort(key=lambda row: row[1].value)
        ends = [
            f"{verb} up to {worth.mark}{figures.ratio(times)} times as {how} (at {format_size(size)})"
            for place, power, verb, how in ((-1, 1, "takes", "long"), (0, -1, "is", "fast"))
            for size, worth in worths[place:][:1]
            if (times := worth.value**power) >= NOTABLE
        ]
        if ends:
            what = pair.what if pair.what != UNKNOWN else "it"
            yield f"{pair.path} without {what} ({pair.other})", ", but ".join(ends)


def switches(run: Run, path: str) -> dict[str, str]:
    """The variables that make this path another than its counterpart."""
    step = run.step(path)
    other = run.step(step.without or "")
    return {
        name: value
        for name, value in step.variables.items()
        if (other.variables.get(name) != value if other.path else name in SWITCHES)
    }


def _pairs(run: Run) -> Iterator[Contrast]:
    for without in run.paths:
        path = run.step(without).without
        if path in run.paths:
            known = any(name in SWITCHES for name in switches(run, without))
            yield Contrast("GPUDirect" if known else UNKNOWN, path, without, _why_not(run, path, without))


def _why_not(run: Run, path: str, without: str) -> str:
    """Why the two differ by more than the switch, or not at all."""
    mpi, other = (run.step(name).mpi for name in (path, without))
    if (mpi and (mpi.vendor, mpi.version)) != (other and (other.vendor, other.version)):
        return f"measured with another MPI than {path}: their ratio would say nothing"
    # The variables of the environment in which the run was started were set for every path.
    if switches(run, without).items() <= run.head.environment.variables.items():
        return f"{path} ran with the same variables: their ratio would say nothing"
    return ""


def costs(run: Run) -> Iterator[Contrast]:
    """Paths over MPI of which UCX's own was measured, too; also those whose MPI is not known to use UCX."""
    for path, bare in UNDER.items():
        if {path, bare} <= set(run.paths):
            yield Contrast("MPI adds", path, bare, _why_not_mpi(run, path, bare), adds=True)


def _why_not_mpi(run: Run, path: str, bare: str) -> str:
    step, other = run.step(path), run.step(bare)
    if not step.mpi or not other.mpi or step.mpi.library != other.mpi.library:
        return f"the two were measured beside different MPIs, {path} and {bare}"
    if step.variables != other.variables:
        return "the two were measured with different variables"
    if layer := step.details.get("pml"):
        return "" if layer == "ucx" else f"Open MPI moved bytes by {layer}, not UCX (OMPI_MCA_pml=ucx)"
    variables = run.head.environment.variables | step.variables
    if variables.get("MPIR_CVAR_CH4_NETMOD") == "ucx" and variables.get("MPIR_CVAR_NOLOCAL") == "1":
        return ""
    return f"the MPI ({step.mpi.vendor}) does not say that it moved bytes by UCX"


def difference(seconds: float) -> str:
    """'32 ns', '-1.20 us'."""
    size = abs(seconds)
    text = f"{size * 1e9:.0f} ns" if size < 0.9995e-6 else format_seconds(size)
    return f"-{text}" if seconds < 0 and text != "0 ns" else text
