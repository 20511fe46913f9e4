"""Measurements: sizes at which MPI or NCCL could be faster, and variables that may help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Conditions, Cost, Finding, Trial
from wirespeed.doctor.shell import exports
from wirespeed.doctor.tables import table
from wirespeed.grouping import size_range
from wirespeed.host.variables import TableRow
from wirespeed.results.findings import NOTABLE
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_seconds, format_size

FEW = 4
"""Sizes of a run: with more, a single one that stands out is noise of the machine, not a threshold."""
WORTH_TRYING = 1.5
"""Time relative to another path: below it, a threshold is not the reason."""
PATHS = {"host": "CPU", "aware": "GPU", "nccl": "GPU"}
"""Paths of libraries that have such variables, and the memory domain of their data."""


Slow = tuple[Entry, Entry]
"""A size that could be faster, and the larger message or the other path that takes less time."""
Case = Callable[[Run, str], list[Slow]]


def find(facts: MachineFacts) -> Iterator[Finding]:
    """From the last run that has the path; there are no findings without measurements."""
    for path, domain in PATHS.items():
        # Memory that is older than any context has a finding of its own, and so have lists of blocks.
        runs = [
            of_run
            for of_run in facts.runs
            if of_run.of_path(path)
            and of_run.head.plan.context != "own"
            and not (of_run.pattern and of_run.pattern.kind.scattered)
        ]
        if not runs:
            continue
        run = runs[-1]
        cases = {"small": _seen_again(_small, runs, path), "slow": _seen_again(_slow, runs, path)}
        for tuning in table("tunings"):
            slow = [case for case in cases[tuning["when"]] if _in_range(tuning, case[0].bytes)]
            if slow and (tuning["library"], tuning["domain"]) == (library_of(run, path), domain):
                yield _finding(facts, path, tuning, slow)


def _seen_again(case: Case, runs: Sequence[Run], path: str) -> list[Slow]:
    """Those of the last run, without what the run before it measured and did not show.

    Of many sizes, one whose neighbours are as they should be does not count.
    """
    found = case(runs[-1], path)
    for before in runs[-2:-1]:
        again = {own.bytes for own, _ in case(before, path)}
        measured = {entry.bytes for entry in before.of_path(path)}
        found = [pair for pair in found if pair[0].bytes in again or pair[0].bytes not in measured]
    sizes = [entry.bytes for entry in runs[-1].of_path(path)]
    at = {sizes.index(own.bytes): (own, other) for own, other in found}
    return [pair for number, pair in at.items() if len(sizes) <= FEW or {number - 1, number + 1} & at.keys()]


def _in_range(tuning: TableRow, size: int) -> bool:
    return int(tuning.get("least", 1)) <= size <= int(tuning.get("most", size))


def _small(run: Run, path: str) -> list[Slow]:
    """Sizes that take longer than a larger one, beyond the intervals of both."""
    entries = _sure(run, path)
    fastest = (min(entries[at:], key=lambda other: other.seconds) for at in range(1, len(entries)))
    pairs = zip(entries, fastest, strict=False)
    return [
        (entry, other)
        for entry, other in pairs
        if entry.seconds > NOTABLE * other.seconds and entry.low > other.high
    ]


def _slow(run: Run, path: str) -> list[Slow]:
    """Sizes at which another path for the same kind of data is much faster."""
    fastest = ((entry, run.fastest(entry.bytes, PATHS[path])) for entry in _sure(run, path))
    return [
        (entry, best[0])
        for entry, best in fastest
        if best and best[0].precision is not None and entry.low > WORTH_TRYING * best[0].high
    ]


def _sure(run: Run, path: str) -> list[Entry]:
    """The path's figures that have an interval."""
    return [entry for entry in run.of_path(path) if entry.bytes and entry.precision is not None]


def _finding(facts: MachineFacts, path: str, tuning: TableRow, slow: list[Slow]) -> Finding:
    own, other = max(slow, key=lambda pair: pair[0].seconds / pair[1].seconds)
    sizes = tuple(entry.bytes for entry, _ in slow)
    few = tuple(sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}))
    here = not facts.foreign and facts.can_run(path)
    than = format_size(other.bytes) if tuning["when"] == "small" else other.path
    return Finding(
        f"tuning-{path}-{'-'.join(tuning['variables'])}",
        f"{path}: {size_range(sizes)} takes up to {own.seconds / other.seconds:.1f} times as long as {than}",
        Cost.SMALL,
        (
            f"{facts.file}: {own.path} takes {format_seconds(own.seconds)} for {format_size(own.bytes)}, "
            f"{other.path} {format_seconds(other.seconds)} for {format_size(other.bytes)}",
        ),
        (*exports(tuning["variables"]), f"# {tuning['says']}"),
        trial=Trial(path, few, Conditions(dict(tuning["variables"]))) if here else None,
        source=tuning["source"],
        suggestion=True,
    )


def library_of(run: Run, path: str) -> str:
    """The library that carries the path's bytes, by its job step: ucx, ob1, mpich, mvapich, nccl or ''.

    tcp: sockets carried them, which no threshold of shared memory concerns.
    """
    if path == "nccl":
        return "nccl"
    if any(proof.verdict == "loopback" for proof in run.evidence_of(path)):
        return "tcp"
    step = run.step(path)
    variables = step.variables
    if variables.get("OMPI_MCA_pml") == "ucx" or variables.get("MPIR_CVAR_CH4_NETMOD") == "ucx":
        return "ucx"
    vendor = step.mpi.vendor if step.mpi else ""
    return {"openmpi": "ob1", "mpich": "mpich", "mvapich": "mvapich", "cray": "mpich"}.get(vendor, "")
