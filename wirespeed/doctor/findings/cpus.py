"""Ranks that have fewer CPUs than they need: more ranks than CPUs, a quota of their control group."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Conditions, Cost, Finding, Trial
from wirespeed.doctor.hang import pattern_words
from wirespeed.doctor.shell import exports
from wirespeed.grouping import grouped
from wirespeed.host.process import cpu_list
from wirespeed.host.variables import switches_of
from wirespeed.results.runs import Entry, Run
from wirespeed.transports import find_transport
from wirespeed.units import format_seconds, format_size

_OVERSUBSCRIBED = "https://docs.open-mpi.org/en/v5.0.8/launching-apps/scheduling.html: oversubscription"
MAX_SIZES = 3
"""Sizes of a trial."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """From the latest run: what is marked there because ranks took turns, or were stopped together."""
    run = next((run for run in (facts.trial, *reversed(facts.runs)) if run and run.entries), None)
    if run is None:
        return
    entries = [entry for entry in run.entries.values() if entry.contended and entry.cores]
    stopped = [
        entry for entry in entries if entry.cores and (entry.cores.by == "quota" or _limited(run, entry))
    ]
    shared = [entry for entry in entries if entry.cores and entry.cores.shared and entry not in stopped]
    if stopped:
        yield _quota(facts, run, stopped)
    if shared:
        yield _shared(facts, run, shared)


def _limited(run: Run, entry: Entry) -> bool:
    """Do ranks take turns because of a control group's limit, below what their CPUs and number ask for?"""
    if not entry.cores or not entry.cores.shared:
        return False
    for here in grouped((rank.host, rank) for rank in run.step(entry.path).ranks).values():
        cpus = {cpu for rank in here for cpu in cpu_list(rank.cpus)}
        quota = min((rank.cpu_quota for rank in here if rank.cpu_quota), default=None)
        if quota and quota < min(len(here), len(cpus) or len(here)):
            return True
    return False


def _evidence(facts: MachineFacts, run: Run, entries: list[Entry]) -> tuple[str, ...]:
    worst = max(entries, key=lambda entry: entry.waited or 0.0)
    where = "tried now" if run is facts.trial else facts.file
    waited = f"; a rank waited for a CPU {worst.waited:.0%} of the time" if worst.waited else ""
    figure = f"{worst.path} takes {format_seconds(worst.seconds)} for {format_size(worst.bytes)}"
    return (f"{where}: {figure}{waited}",)


def _again(run: Run, ranks: int) -> str:
    """A command with fewer ranks; empty where the pattern decides how many there are."""
    changeable = run.pattern is not None and run.pattern.rank_rule.exact is None
    return f"wirespeed {run.head.plan.pattern} --ranks {ranks}  # fewer ranks" if changeable and ranks else ""


def _quota(facts: MachineFacts, run: Run, entries: list[Entry]) -> Finding:
    ranks = run.step(entries[0].path).ranks
    stat = any(entry.cores and entry.cores.by == "quota" for entry in entries)
    host = next((rank.host for rank in ranks if rank.cpu_quota), facts.host)
    here = [rank for rank in ranks if rank.host == host]
    quota = min((rank.cpu_quota for rank in here if rank.cpu_quota), default=None)
    limit = f"{quota:g} CPUs' time" if quota else "too little CPU time"
    enough = len(here) + 1
    lines = (
        f"systemctl set-property --runtime UNIT CPUQuota={100 * enough}%  # /proc/self/cgroup names the unit",
        f"docker update --cpus={enough} CONTAINER  # Kubernetes: resources.limits.cpu",
        _again(run, int(quota or 0)),
    )
    return Finding(
        "cpu-quota",
        f"The control group's quota stops the ranks: {len(here)} of them may use {limit}",
        Cost.HIGH,
        (
            *_evidence(facts, run, entries),
            "cpu.stat counts throttled time meanwhile"
            if stat
            else "the control group's limit (cpu.max) is below a CPU for each rank",
        ),
        tuple(filter(None, lines)),
        source="https://docs.kernel.org/scheduler/sched-bwc.html: cpu.stat's throttled time, cpu.max",
    )


def _shared(facts: MachineFacts, run: Run, entries: list[Entry]) -> Finding:
    first = max(entries, key=lambda entry: entry.waited or 0.0)
    assert first.cores
    step = run.step(first.path)
    by_mpi = find_transport(step.transport).moved_by == "mpi" and step.mpi
    idle = dict(switches_of(step.mpi.vendor).get("idle", {})) if by_mpi and step.mpi else {}
    here = not facts.foreign and facts.can_run(first.path)
    cpus = len(facts.limits.cpus)
    lines = (
        "grep Cpus_allowed_list /proc/self/status  # a CPU for each rank: srun -c 1, taskset, cpuset",
        _again(run, cpus if here and cpus < len(step.ranks) else 0),
        *(f"{line}  # else let ranks that wait give up their CPU" for line in exports(idle)),
    )
    sizes = tuple(entry.bytes for entry in entries if entry.path == first.path)[:MAX_SIZES]
    return Finding(
        "cpus-shared",
        f"More ranks than CPUs: {first.cores.shared}",
        Cost.HIGH,
        _evidence(facts, run, entries),
        tuple(filter(None, lines)),
        trial=Trial(first.path, sizes, Conditions(idle), pattern=tuple(pattern_words(run.head.plan)))
        if idle and here
        else None,
        source=f"{_OVERSUBSCRIBED}; MPICH's README.envvar; Intel MPI's reference: I_MPI_THREAD_YIELD",
    )
