"""Measurements: sizes at which MPI or NCCL could do better, and the variables that may bring them there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding, Setting, Trial
from wirespeed.report.records import Entry, Run
from wirespeed.toml import parse
from wirespeed.units import format_seconds, format_size

WORTH_TRYING = 1.5
"""Times longer than another path: below, a threshold is not the reason."""
PATHS = {"host": "CPU", "aware": "GPU", "nccl": "GPU"}
"""Paths of libraries that have variables for it, and where their data lie."""


@cache
def tunings() -> tuple[Mapping[str, Any], ...]:
    """tunings.toml, entry by entry."""
    text = files("wirespeed.doctor").joinpath("tunings.toml").read_text("utf-8")
    return tuple(parse(text)["tuning"])


def find(facts: Facts) -> list[Finding]:
    """From the last run that has the path; nothing is found without measurements."""
    found = []
    for path in PATHS:
        run = next((one for one in reversed(facts.runs) if one.of_path(path)), None)
        if run:
            found += _small(facts, run, path) or _slow(facts, run, path)
    return found


def _small(facts: Facts, run: Run, path: str) -> list[Finding]:
    """Sizes that take longer than a larger one, beyond the intervals of both."""
    entries = [entry for entry in run.of_path(path) if entry.bytes]
    slower = []
    for number, entry in enumerate(entries):
        rest = entries[number + 1 :]
        better = min(rest, key=lambda other: other.seconds, default=None)
        if better and entry.seconds > 1.1 * better.seconds and entry.low > better.high:
            slower.append((entry, better))
    if not slower:
        return []
    first, better = slower[0][0], max(slower, key=lambda pair: pair[0].seconds / pair[1].seconds)[1]
    evidence = (
        f"{facts.file}: {path} takes {format_seconds(first.seconds)} for {format_size(first.bytes)} and "
        f"{format_seconds(better.seconds)} for {format_size(better.bytes)}",
    )
    sizes = tuple(entry.bytes for entry, _ in slower)
    title = f"{path}: {_range(sizes)} takes longer than {format_size(better.bytes)}"
    return _findings(run, path, "small", title, evidence, sizes)


def _slow(facts: Facts, run: Run, path: str) -> list[Finding]:
    """Sizes at which another path for the same kind of data is much faster."""
    worse: list[tuple[Entry, Entry]] = []
    for entry in run.of_path(path):
        fastest = run.fastest(entry.bytes, PATHS[path])
        if entry.bytes and fastest and entry.low > WORTH_TRYING * fastest[0].high:
            worse.append((entry, fastest[0]))
    if not worse:
        return []
    entry, best = max(worse, key=lambda pair: pair[0].seconds / pair[1].seconds)
    evidence = (
        f"{facts.file}: {path} takes {format_seconds(entry.seconds)} for {format_size(entry.bytes)}, "
        f"{best.path} {format_seconds(best.seconds)}",
    )
    sizes = tuple(entry.bytes for entry, _ in worse)
    times = entry.seconds / best.seconds
    title = f"{path}: up to {times:.1f} times longer than {best.path}, at {_range(sizes)}"
    return _findings(run, path, "slow", title, evidence, sizes)


def _findings(
    run: Run, path: str, when: str, title: str, evidence: tuple[str, ...], sizes: tuple[int, ...]
) -> list[Finding]:
    library = library_of(run, path)
    fitting = [
        one
        for one in tunings()
        if one["library"] == library and one["when"] == when and one["home"] == PATHS[path]
    ]
    few = tuple(sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}))
    return [
        Finding(
            f"tuning-{path}-{'-'.join(one['variables'])}",
            title,
            Cost.SMALL,
            (*evidence, one["says"]),
            tuple(f"export {name}={value}" for name, value in one["variables"].items()),
            trial=Trial(path, few, Setting(dict(one["variables"]))),
            source=one["source"],
        )
        for one in fitting
    ]


def library_of(run: Run, path: str) -> str:
    """What carries the path's bytes, as far as its job step tells: ucx, ob1, mpich, mvapich, nccl or ''."""
    step = run.step(path)
    if path == "nccl":
        return "nccl"
    variables = step.get("variables") or {}
    if variables.get("OMPI_MCA_pml") == "ucx" or variables.get("MPIR_CVAR_CH4_NETMOD") == "ucx":
        return "ucx"
    vendor = str((step.get("mpi") or {}).get("vendor", ""))
    return {"openmpi": "ob1", "mpich": "mpich", "mvapich": "mvapich", "cray": "mpich"}.get(vendor, "")


def _range(sizes: tuple[int, ...]) -> str:
    if len(sizes) == 1:
        return format_size(sizes[0])
    return f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
