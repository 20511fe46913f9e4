"""Measurements: sizes at which MPI or NCCL could be faster, and variables that may help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Conditions, Cost, Finding, Trial
from wirespeed.doctor.parts import part
from wirespeed.doctor.tables import Entry as Tuning
from wirespeed.doctor.tables import exports, table
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_seconds, format_size

NOTABLE = 1.1
"""Time relative to a larger message: a smaller ratio is noise of the machine."""
WORTH_TRYING = 1.5
"""Time relative to another path: below it, a threshold is not the reason."""
PATHS = {"host": "CPU", "aware": "GPU", "nccl": "GPU"}
"""Paths of libraries that have such variables, and the memory domain of their data."""


@dataclass(frozen=True)
class _Slow:
    """One size that could be faster, and what shows that."""

    entry: Entry
    other: Entry
    """The larger message, or the other path, that takes less time."""

    @property
    def times(self) -> float:
        return self.entry.seconds / self.other.seconds


def find(facts: Facts) -> Iterator[Finding]:
    """From the last run that has the path; there are no findings without measurements."""
    for path, domain in PATHS.items():
        run = next((one for one in reversed(facts.runs) if one.of_path(path)), None)
        if run is None:
            continue
        cases = {"small": _small(run, path), "slow": _slow(run, path)}
        for tuning in table("tunings"):
            slow = [one for one in cases[tuning["when"]] if _in_range(tuning, one.entry.bytes)]
            if slow and (tuning["library"], tuning["domain"]) == (library_of(run, path), domain):
                yield _finding(facts, path, tuning, slow)


def _in_range(tuning: Tuning, size: int) -> bool:
    return int(tuning.get("least", 1)) <= size <= int(tuning.get("most", size))


def _small(run: Run, path: str) -> list[_Slow]:
    """Sizes that take longer than a larger one, beyond the intervals of both."""
    entries = [entry for entry in run.of_path(path) if entry.bytes]
    found = []
    for number, entry in enumerate(entries[:-1]):
        better = min(entries[number + 1 :], key=lambda other: other.seconds)
        if entry.seconds > NOTABLE * better.seconds and entry.low > better.high:
            found.append(_Slow(entry, better))
    return found


def _slow(run: Run, path: str) -> list[_Slow]:
    """Sizes at which another path for the same kind of data is much faster."""
    found = []
    for entry in run.of_path(path):
        fastest = run.fastest(entry.bytes, PATHS[path])
        if entry.bytes and fastest and entry.low > WORTH_TRYING * fastest[0].high:
            found.append(_Slow(entry, fastest[0]))
    return found


def _finding(facts: Facts, path: str, tuning: Tuning, slow: list[_Slow]) -> Finding:
    worst = max(slow, key=lambda one: one.times)
    sizes = tuple(one.entry.bytes for one in slow)
    own, other = worst.entry, worst.other
    few = tuple(sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}))
    here = not facts.foreign and facts.can_run(path)
    than = format_size(other.bytes) if tuning["when"] == "small" else other.path
    return Finding(
        f"tuning-{path}-{'-'.join(tuning['variables'])}",
        f"{path}: {_range(sizes)} takes up to {worst.times:.1f} times as long as {than}",
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
    """What carries the path's bytes, as far as its job step tells: ucx, ob1, mpich, mvapich, nccl or ''."""
    if path == "nccl":
        return "nccl"
    step = run.step(path)
    variables = part(step, "variables")
    if variables.get("OMPI_MCA_pml") == "ucx" or variables.get("MPIR_CVAR_CH4_NETMOD") == "ucx":
        return "ucx"
    vendor = str(part(step, "mpi").get("vendor", ""))
    return {"openmpi": "ob1", "mpich": "mpich", "mvapich": "mvapich", "cray": "mpich"}.get(vendor, "")


def _range(sizes: tuple[int, ...]) -> str:
    return " to ".join(dict.fromkeys((format_size(sizes[0]), format_size(sizes[-1]))))
