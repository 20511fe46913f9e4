"""Worth of one thing: two paths that differ by it alone, such as aware with and without GPUDirect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import doubts, sign
from wirespeed.results.runs import Run
from wirespeed.statistics.samples import ratio_interval
from wirespeed.units import format_size

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


@dataclass(frozen=True)
class Worth:
    """Ratio of the time without to the time with; the ends of the 95 % interval, where both figures have
    one.
    """

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
    """('aware without GPUDirect (aware-nogdr)', 'takes up to 8.98 times as long (at 1 GiB)')."""
    for pair in pairs(run):
        worths = [(size, worth) for size in run.sizes if (worth := pair.worth(run, size)) and worth.certain]
        size, worth = max(worths, key=lambda row: row[1].ratio, default=(0, None))
        if worth and worth.ratio >= NOTABLE:
            what = pair.what if pair.what != UNKNOWN else "it"
            longer = f"takes up to {worth.mark}{worth.words} times as long"
            yield f"{pair.path} without {what} ({pair.without})", f"{longer} (at {format_size(size)})"


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
