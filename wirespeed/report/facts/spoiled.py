"""Figures that are not their path's own: ranks waited, started apart, shared GPUs, were started anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.grouping import grouped, size_range, size_ranges, together
from wirespeed.host.process import span
from wirespeed.report.facts import copies, figures
from wirespeed.report.facts.machine import device_title
from wirespeed.results.parts import MUCH_SKEW, Rank
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_seconds, format_size

MAX_PLACES = 4

CAUSES = {
    "others": ("slowed by other processes", "measure again when nothing else runs"),
    "threads": ("slowed by their own threads", "give each rank more CPUs, or its libraries fewer threads"),
    "ranks": ("ranks met on a CPU", "give each rank a CPU of its own, where it stays"),
    "quota": (
        "stopped by the control group's quota",
        "give the group more CPU time (cpu.max, --cpus of a container), or start fewer ranks",
    ),
    "shared": ("ranks take turns on CPUs", "give each rank a CPU of its own"),
    None: ("ranks waited for CPUs", "measure again when nothing else runs on these CPUs"),
}
"""Words for the event and its remedy, by who had a rank's CPU."""
COST = (
    "on an H200 that has cost 145 us for 8 B by ipc-write, against 7.3 us between two GPUs "
    "(from docs/devices.md, not measured in this run)"
)
_BY_TURNS = f"they take turns: {COST}"
_MPS = {
    "running": "MPS is running, by which their work can run at the same time",
    "elsewhere": f"MPS is running, but not with their pipe folder (CUDA_MPS_PIPE_DIRECTORY), so {_BY_TURNS}",
    "unseen": f"MPS has a pipe folder here, but none of its processes can be seen; without it {_BY_TURNS}",
    "none": f"MPS is not running, so {_BY_TURNS}; the remedy is MPS, by which their work can run at the same "
    "time: nvidia-cuda-mps-control -d",
}


def contended(run: Run) -> list[str]:
    """A line for each cause, with the figures that it is in; none where every rank had its CPU."""
    found = [entry for entry in run.entries.values() if entry.contended or copies.waited_alone(entry)]
    causes = grouped(((_cause(entry), entry.cores.shared if entry.cores else None), entry) for entry in found)
    lines = []
    for (cause, shared), entries in causes.items():
        waits = [
            waited for entry in entries for waited in (entry.waited, copies.alone_waited(entry)) if waited
        ]
        waited = (
            f"waited for a CPU up to {figures.percent(round(max(waits), 2))} of the time" if waits else ""
        )
        what, helps = CAUSES[cause]
        why = ", and one ".join(filter(None, [shared, waited])) if shared else f"a rank {waited}"
        lines.append(f"{what}: {_where(run, entries)}; {why}; {helps}")
    return lines


def remedy(entries: list[Entry]) -> str:
    """Remedy for all of them: that of the first one's cause."""
    return CAUSES[_cause(entries[0])][1]


def _cause(entry: Entry) -> str | None:
    by = entry.cores.by if entry.cores else None
    if entry.cores and entry.cores.shared and by != "quota":
        return "shared"
    return by if by in CAUSES else None


def _where(run: Run, entries: list[Entry]) -> str:
    """'host, staged at 8 B to 64 B and 1 MiB, aware at 8 B': these figures and no others."""
    sizes = grouped((entry.path, entry.bytes) for entry in entries)
    ranges = {
        path: size_ranges(own, [entry.bytes for entry in run.of_path(path)]) for path, own in sizes.items()
    }
    places = together((where, path) for path, where in ranges.items())
    if len(places) > MAX_PLACES:
        return f"{len(entries)} figures of {', '.join(sizes)}"
    return ", ".join(f"{paths} at {where}" for paths, where in places)


def skewed(run: Run) -> list[Entry]:
    """Figures that how far apart the ranks began is much of."""
    return [entry for entry in run.entries.values() if entry.skew > MUCH_SKEW]


def late_starts(run: Run) -> list[str]:
    """A line for each path with such figures, by the one that it is most of."""
    lines = []
    for path, entries in grouped((entry.path, entry) for entry in skewed(run)).items():
        worst = max(entries, key=lambda entry: entry.skew)
        assert worst.start and worst.start.skew_s
        where = size_ranges({entry.bytes for entry in entries}, [entry.bytes for entry in run.of_path(path)])
        several = f" of {worst.iterations_per_sample} iterations" if worst.iterations_per_sample > 1 else ""
        lines.append(
            f"ranks start apart: {path} at {where}; at {format_size(worst.bytes)} the last one starts "
            f"{format_seconds(worst.start.skew_s)} late in each sample{several} (by {worst.start.by}), and "
            f"the figure is {format_seconds(worst.seconds)}"
        )
    return lines


def sharing(run: Run) -> list[str]:
    """A line for each way in which ranks share GPUs that hold their data; none where none do."""
    found: dict[str, None] = {}
    for step in filter(lambda step: step.on_gpus, run.steps):
        found |= dict.fromkeys([*_shared(step.ranks), *_slices(step.ranks)])
    return list(found)


def _shared(ranks: Sequence[Rank]) -> Iterator[str]:
    """Ranks with one device, those with the same remedy in one line."""
    devices = grouped(((rank.host, rank.device.id), rank) for rank in ranks if rank.device and rank.device.id)
    several = [each for each in devices.values() if len(each) > 1]
    for mps, groups in grouped((each[0].mps, each) for each in several).items():
        named = [
            f"ranks {span(rank.rank for rank in alike)} share {device_title(device)}"
            for alike in groups[:3]
            if (device := alike[0].device)
        ]
        more = f", ... {len(groups)} GPUs in all" if len(groups) > 3 else ""
        who = ", ".join(named) + more
        yield f"{who}: {_MPS[mps]}" if isinstance(mps, str) and mps in _MPS else who


def _slices(ranks: Sequence[Rank]) -> Iterator[str]:
    """Ranks with devices of their own that are parts of one GPU."""
    placed = (((rank.host, rank.device.pci), rank) for rank in ranks if rank.device and rank.device.pci)
    for (_, pci), found in grouped(placed).items():
        if len({rank.device.id for rank in found if rank.device}) > 1:
            who = f"ranks {span(rank.rank for rank in found)} use slices of one GPU ({pci}): they"
            share = "share its PCIe slot and its counters, have no peer access to each other"
            yield f"{who} {share}, and no limit of theirs is known"


def _processes(run: Run) -> dict[tuple[str, int], int]:
    """By run and job step: the first step of the same processes, which had then started already."""
    found: dict[tuple[str, int], int] = {}
    first: dict[str, int] = {}
    for step in run.steps:
        if step.startup_s or step.run not in first:
            first[step.run] = step.step
        found[step.run, step.step] = first[step.run]
    return found


def mixed(run: Run) -> dict[str, str]:
    """A line by path: which sizes were measured together. None where each column is of one launch."""
    each = [launch for entry in run.entries.values() for launch in entry.each]
    processes = _processes(run)
    broke = {failure.path for failure in run.recorded_failures if failure.ended_processes}
    found: dict[str, str] = {}
    for (path, _), column in grouped(((entry.path, entry.launch), entry) for entry in each).items():
        own = ((entry.run, processes.get((entry.run, entry.step), entry.step)) for entry in column)
        starts = grouped(zip(own, (entry.bytes for entry in column), strict=True))
        if len(starts) > 1 and path not in found:
            runs = len({run for run, _ in starts})
            left_out = run.head.plan.budget and path not in broke
            reason = "for sizes that had no time" if left_out else "after a fault"
            anew = [f"the ranks were started anew {reason}"] * (len(starts) > runs)
            why = ", and ".join([*anew, *["--resume"] * (runs > 1)])
            spans = ", then ".join(map(size_range, sorted(starts.values())))
            found[path] = (
                f"{path}: one column, {len(starts)} launches ({why}): {spans}; launches differ, "
                "which no interval here includes: compare sizes of one launch"
            )
    return found
