"""Two paths that differ by one thing: how many times longer it takes without, or by how much time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import AS_FAST, NO_INTERVAL, TIMES, biased, doubts, sign
from wirespeed.results.runs import Run
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


class Contrast(NamedTuple):
    """A comparison of two paths, as tables have it."""

    what: str
    """'GPUDirect', 'MPI adds'."""
    path: str
    title: str
    """'aware-nogdr / aware'."""
    of: Callable[[Run, int], Worth | Added | None]
    """Its figure at a size; None where one of the paths has none."""
    unit: str = ""


def contrasts(run: Run) -> list[Contrast]:
    """All of them: ratios first."""
    return [
        *(Contrast(p.what, p.path, f"{p.without} / {p.path}", p.worth, TIMES) for p in pairs(run)),
        *(Contrast("MPI adds", cost.path, f"MPI adds to {cost.bare}", cost.added) for cost in costs(run)),
    ]


@dataclass(frozen=True)
class Worth:
    """Ratio of the time without to the time with; the ends of its 95 % interval, if both figures have one."""

    ratio: float
    low: float | None
    high: float | None
    fixed: bool = False
    """Means of a fixed count: nobody asked for an interval."""
    mark: str = ""
    """Marks of the two figures."""

    @property
    def certain(self) -> bool:
        """True where the figures differ beyond their intervals."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def plain(self) -> bool:
        """True where no sign of doubt belongs behind it."""
        return self.certain or self.fixed

    @property
    def share(self) -> float | None:
        """Half the interval's width as a share of the ratio."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2 / self.ratio

    @property
    def words(self) -> str:
        """'8.98'."""
        return figures.ratio(self.ratio)

    @property
    def spread(self) -> str:
        """'±0.4 %'."""
        return figures.spread(self.share)


@dataclass(frozen=True)
class Pair:
    """A path, and the same with something switched off."""

    path: str
    without: str
    what: str
    """The word for what is switched off."""

    def worth(self, run: Run, size: int) -> Worth | None:
        """None where one of the two has no figure."""
        own, other = run.entries.get((self.path, size)), run.entries.get((self.without, size))
        if own is None or other is None:
            return None
        mark = doubts(sign(run, other), sign(run, own))
        if None in (own.precision, other.precision):
            fixed = own.stopped == other.stopped == "fixed"
            return Worth(other.seconds / own.seconds, None, None, fixed, mark)
        times = [(entry.seconds, entry.low, entry.high) for entry in (other, own)]
        return Worth(*ratio_interval(*times), mark=mark)


def pairs(run: Run) -> list[Pair]:
    """Every pair of which both were measured and can be compared, in table order."""
    return [pair for pair, reason in _all_pairs(run) if reason is None]


def most(run: Run) -> Iterator[tuple[str, str]]:
    """('aware without GPUDirect (aware-nogdr)', 'takes up to 8.98 times as long (at 1 GiB)').

    Where it is faster without: ', but is up to 6.52 times as fast (at 64 KiB)' behind it, or alone.
    """
    for pair in pairs(run):
        worths = [(size, worth) for size in run.sizes if (worth := pair.worth(run, size)) and worth.certain]
        worths.sort(key=lambda row: row[1].ratio)
        ends = [
            f"{verb} up to {worth.mark}{figures.ratio(times)} times as {how} (at {format_size(size)})"
            for place, power, verb, how in ((-1, 1, "takes", "long"), (0, -1, "is", "fast"))
            for size, worth in worths[place:][:1]
            if (times := worth.ratio**power) >= NOTABLE
        ]
        if ends:
            what = pair.what if pair.what != UNKNOWN else "it"
            yield f"{pair.path} without {what} ({pair.without})", ", but ".join(ends)


def incomparable(run: Run) -> list[tuple[str, str]]:
    """Each path whose ratio would say nothing, and why."""
    return [(pair.without, reason) for pair, reason in _all_pairs(run) if reason]


def switches(run: Run, path: str) -> dict[str, str]:
    """The variables that make this path another than its counterpart."""
    step = run.step(path)
    other = run.step(step.without or "")
    return {
        name: value
        for name, value in step.variables.items()
        if (other.variables.get(name) != value if other.path else name in SWITCHES)
    }


def _all_pairs(run: Run) -> Iterator[tuple[Pair, str | None]]:
    for without in run.paths:
        path = run.step(without).without
        if path in run.paths:
            known = any(name in SWITCHES for name in switches(run, without))
            yield Pair(path, without, "GPUDirect" if known else UNKNOWN), _why_not(run, path, without)


def _why_not(run: Run, path: str, without: str) -> str | None:
    """Why the two differ by more than the switch, or not at all."""
    loaded_mpi, other = (run.step(name).mpi for name in (path, without))
    if (loaded_mpi and (loaded_mpi.vendor, loaded_mpi.version)) != (other and (other.vendor, other.version)):
        return f"measured with another MPI than {path}: their ratio would say nothing"
    # The variables of the environment in which the run was started were set for every path.
    if switches(run, without).items() <= run.head.environment.variables.items():
        return f"{path} ran with the same variables: their ratio would say nothing"
    return None


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


def doubt_of(found: Worth | Added) -> tuple[str, str]:
    """Signs before and behind its words: the figures' marks; that it is no sure difference."""
    if found.plain:
        return found.mark, ""
    return biased(found.mark), NO_INTERVAL if found.low is None else AS_FAST


def difference(seconds: float) -> str:
    """'32 ns', '-1.20 us'."""
    size = abs(seconds)
    text = f"{size * 1e9:.0f} ns" if size < 0.9995e-6 else format_seconds(size)
    return f"-{text}" if seconds < 0 and text != "0 ns" else text


def costs(run: Run) -> list[MpiCost]:
    """Every path whose MPI is known to have run over UCX, and that UCX was measured too."""
    return [cost for cost, reason in _all_costs(run) if reason is None]


def unknown_costs(run: Run) -> list[tuple[MpiCost, str]]:
    """The other paths of which UCX's own was measured, and why the difference is not MPI's."""
    return [(cost, reason) for cost, reason in _all_costs(run) if reason]


def _all_costs(run: Run) -> Iterator[tuple[MpiCost, str | None]]:
    for path, bare in UNDER.items():
        if {path, bare} <= set(run.paths):
            yield MpiCost(path, bare), _why_not_mpi(run, path, bare)


def _why_not_mpi(run: Run, path: str, bare: str) -> str | None:
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
