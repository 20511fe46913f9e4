"""Measurements: sizes at which MPI or NCCL could do better, and the variables that may bring them there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding, Setting, Trial
from wirespeed.results.runs import Entry, Run
from wirespeed.toml import parse
from wirespeed.units import format_seconds, format_size

NOTABLE = 1.1
"""Times longer than a larger message: less is noise of the machine."""
WORTH_TRYING = 1.5
"""Times longer than another path: below, a threshold is not the reason."""
PATHS = {"host": "CPU", "aware": "GPU", "nccl": "GPU"}
"""Paths of libraries that have variables for it, and where their data lie."""


@cache
def tunings() -> tuple[Mapping[str, Any], ...]:
    """tunings.toml, entry by entry."""
    text = files("wirespeed.doctor").joinpath("tunings.toml").read_text("utf-8")
    return tuple(parse(text)["tuning"])


@dataclass(frozen=True)
class _Slow:
    """One size that could be faster, and what shows it."""

    entry: Entry
    other: Entry
    """The larger message, or the other path, that takes less time."""

    @property
    def times(self) -> float:
        return self.entry.seconds / self.other.seconds


def find(facts: Facts) -> list[Finding]:
    """From the last run that has the path; nothing is found without measurements."""
    found: list[Finding] = []
    for path in PATHS:
        run = next((one for one in reversed(facts.runs) if one.of_path(path)), None)
        if run is None:
            continue
        cases = {"small": _small(run, path), "slow": _slow(run, path)}
        for tuning in tunings():
            if tuning["library"] == library_of(run, path) and tuning["home"] == PATHS[path]:
                slow = [one for one in cases[tuning["when"]] if _in_range(tuning, one.entry.bytes)]
                if slow:
                    found.append(_finding(facts, path, tuning, slow))
    return found


def _in_range(tuning: Mapping[str, Any], size: int) -> bool:
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


def _finding(facts: Facts, path: str, tuning: Mapping[str, Any], slow: list[_Slow]) -> Finding:
    worst = max(slow, key=lambda one: one.times)
    sizes = tuple(one.entry.bytes for one in slow)
    own, other = worst.entry, worst.other
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
        (
            *(f"export {name}={value}" for name, value in tuning["variables"].items()),
            f"# {tuning['says']}",
        ),
        trial=Trial(path, _few(sizes), Setting(dict(tuning["variables"]))) if here else None,
        source=tuning["source"],
        suggestion=True,
    )


def _few(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The first, the middle and the last."""
    return tuple(sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}))


def library_of(run: Run, path: str) -> str:
    """What carries the path's bytes, as far as its job step tells: ucx, ob1, mpich, mvapich, nccl or ''."""
    step = run.step(path)
    if path == "nccl":
        return "nccl"
    variables = step.variables
    if variables.get("OMPI_MCA_pml") == "ucx" or variables.get("MPIR_CVAR_CH4_NETMOD") == "ucx":
        return "ucx"
    vendor = step.mpi.vendor if step.mpi else ""
    return {"openmpi": "ob1", "mpich": "mpich", "mvapich": "mvapich", "cray": "mpich"}.get(vendor, "")


def _range(sizes: tuple[int, ...]) -> str:
    if len(sizes) == 1:
        return format_size(sizes[0])
    return f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
