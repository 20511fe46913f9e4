"""Figures and failures of runs, each once, and what tells runs apart: for formats, checks and lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.grouping import grouped, size_ranges
from wirespeed.report.facts.machine import mpi_title
from wirespeed.report.facts.markers import MEANINGS, sign
from wirespeed.report.facts.trust import trust
from wirespeed.results.runs import ONE_WAY, Entry, Failure, Run

USUAL_RANKS = 2


def figures(runs: Sequence[Run]) -> Iterator[tuple[Run, Entry]]:
    """Every figure, path by path, smallest size first."""
    return ((run, entry) for run in runs for path in run.paths for entry in run.of_path(path))


def failures(runs: Sequence[Run]) -> Iterator[tuple[Run, Failure]]:
    """Paths and sizes that gave no figure, without those that were interrupted.

    A path may fail under one MPI and be measured under another: then it has not failed.
    """
    for run in runs:
        for failure in run.failures:
            measured = (failure.path, failure.bytes) in run.entries
            elsewhere = failure.whole_path and failure.path in run.paths
            if failure.what != "interrupted" and not measured and not elsewhere:
                yield run, failure


def host(run: Run) -> str:
    """The host that the run was started on."""
    return run.head.environment.host


def pattern(run: Run, entry: Entry | None = None) -> str:
    """The pattern's name, from the entry or from the plan."""
    return (entry.pattern if entry else "") or run.head.plan.pattern


def conditions(run: Run) -> str:
    """Conditions that differ from the defaults, as one word without blanks: 'group=4,ranks=8'."""
    plan, found = run.head.plan, run.changed_options
    if plan.ranks not in (0, USUAL_RANKS):
        found["ranks"] = plan.ranks
    for name in ("between", "ranks_per_gpu", "mpi", "hosts", "background", "profile"):
        if value := getattr(plan, name):
            found[name] = "+".join(map(str, value)) if isinstance(value, tuple) else value
    return ",".join(f"{name}={'_'.join(str(value).split())}" for name, value in found.items())


def trusted(run: Run) -> str:
    """yes or no."""
    return "yes" if trust(run).good else "no"


def comments(run: Run, entries: Sequence[Entry]) -> list[str]:
    """'trust: yes, ...', and '~ at 8 B to 64 B: ...' for each mark of these figures."""
    marks = grouped((sign(run, entry), entry.bytes) for entry in entries)
    sizes = [entry.bytes for entry in entries]
    places = {mark: size_ranges(found, sizes) for mark, found in marks.items() if mark}
    told = [f"{mark} at {where}: {MEANINGS[mark]}" for mark, where in places.items()]
    return [f"trust: {trust(run).words}", *told]


def gpu(run: Run, path: str) -> str:
    """Names of the GPUs that the path's ranks drive: 'NVIDIA H200'; empty without one."""
    devices = (rank.device for rank in run.step(path).ranks if rank.device)
    return ", ".join(dict.fromkeys(each.name or each.kind for each in devices if each.kind != "host"))


def mpi(run: Run, path: str) -> str:
    """'Open MPI 5.0.11', of the path's job step; empty without one."""
    found = run.step(path).mpi
    return mpi_title(found) if found else ""


def derived(entry: Entry) -> list[tuple[str, str, float]]:
    """(name, unit, median) of its further figures: ('both ways', 'GB/s', 812.0)."""
    return [(part.name, part.unit, part.median) for part in entry.derived if part.median is not None]


def one_way(entry: Entry) -> bool:
    """True where its time is what others call latency."""
    return entry.timed == ONE_WAY
