"""Result files as the doctor reads them: same machine or not, worth of remedies, best path by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from wirespeed.doctor.finding import Finding, Improvement, RemedyPoint
from wirespeed.errors import WirespeedError
from wirespeed.results.fastest import same_fastest
from wirespeed.results.model import Doctor
from wirespeed.results.parts import Cpu
from wirespeed.results.reading import is_named_so, read
from wirespeed.results.runs import Entry, Run, collect
from wirespeed.results.wrong_data import also_distrusted, wrong_bytes
from wirespeed.statistics import samples
from wirespeed.transports import find_transport

PAIRS = {
    "mpi-not-aware": ("staged", "aware"),
    "mpi-aware-on-paper": ("staged", "aware"),
    "peer-access": ("nccl-nop2p", "nccl"),
    "variable-NCCL_P2P_DISABLE": ("nccl-nop2p", "nccl"),
    "variable-NCCL_P2P_LEVEL": ("nccl-nop2p", "nccl"),
    "variable-UCX_TLS": ("aware-nogdr", "aware"),
    "variable-OMPI_MCA_pml": ("staged", "aware"),
    "mpi-datatypes": ("aware-datatype", "aware-packed"),
}
"""Finding -> the path that is left, and the one that there could be: their ratio is the worth."""
MAX_FILES = 20
"""Most files of a folder that are looked into."""


def same_machine(run: Run, host: str, cpu: Cpu, devices: Sequence[Mapping[str, Any]]) -> bool:
    """Was it measured on a machine of this name, CPU and GPUs? Emulated and OpenMP's devices do not tell."""
    there = run.head.environment
    if there.host != host or there.cpu.model != cpu.model:
        return False
    theirs = {device.name for device in there.devices if device.kind not in ("emulated", "openmp")}
    ours = {
        str(device.get("name"))
        for device in devices
        if device.get("kind") not in ("emulated", "host", "openmp")
    }
    return not theirs or theirs == ours


def beside(folder: Path) -> list[tuple[str, list[Run]]]:
    """Result files in a folder, newest first."""
    named = filter(is_named_so, folder.glob("wirespeed-*.jsonl*"))
    files = sorted(named, key=lambda file: file.stat().st_mtime, reverse=True)
    found = []
    for file in files[:MAX_FILES]:
        try:
            runs = collect(read(file).records)
        except WirespeedError:
            continue
        if any(run.entries for run in runs):
            found.append((file.name, runs))
    return found


def with_worth(finding: Finding, runs: Sequence[Run], file: str) -> Finding:
    """The finding with what its remedy was worth in these runs, if they have both paths."""
    pair = PAIRS.get(finding.key)
    if pair is None or finding.worth is not None:
        return finding
    for run in reversed(runs):
        points = tuple(
            point(size, left, could)
            for size in run.sizes
            if (left := run.entries.get((pair[0], size))) and (could := run.entries.get((pair[1], size)))
        )
        if points:
            what = f"{pair[0]}, then {pair[1]}"
            return structs.replace(finding, worth=Improvement(what, points, file))
    return finding


def tried_before(file: str) -> dict[str, Improvement]:
    """Worth of remedies when they were last tried, by finding, from the doctor's last record."""
    doctors: list[Doctor] = []
    with suppress(WirespeedError):
        doctors = read(file).doctors
    found = {
        finding.key: finding.worth for finding in (doctors[-1].findings if doctors else ()) if finding.worth
    }
    name = Path(file).name
    return {
        key: structs.replace(improvement, measured=name)
        for key, improvement in found.items()
        if improvement.verdict
    }


def point(size: int, before: Entry | None, after: Entry | None) -> RemedyPoint:
    """A size's figures, and their ratio with its interval where both sides have one."""
    if before is None or after is None:
        return RemedyPoint(size, before.seconds if before else None, after.seconds if after else None)
    ratio, *ends = samples.ratio_interval(
        (before.seconds, before.low, before.high), (after.seconds, after.low, after.high)
    )
    known = before.precision is not None and after.precision is not None
    return RemedyPoint(size, before.seconds, after.seconds, ratio, *(ends if known else ()))


class Stretch(Struct, frozen=True):
    """Neighbouring sizes at which the same paths are fastest."""

    home: str
    """Place of the data: CPU or GPU."""
    mpi: bool
    """True if only paths through MPI are compared."""
    first: int
    last: int
    paths: tuple[str, ...]
    """Paths whose intervals overlap at all of these sizes, best first."""
    next_best: str = ""
    """The other path that comes closest at any of these sizes."""
    least: float | None = None
    """Its time over the fastest path's where they are closest; `most`: where they are farthest apart."""
    most: float | None = None


def stretches(run: Run) -> list[Stretch]:
    """Best path by size, and the sizes at which it changes: of all paths, and of those through MPI.

    A path that delivered wrong bytes is none, and none that crosses the same peer access.
    """
    found: list[Stretch] = []
    doubtful = {*wrong_bytes(run), *also_distrusted(run)}
    for home in run.competing:
        everything = {entry.path for entry in run.entries.values() if entry.memory_domain == home} - doubtful
        by_mpi = {path for path in everything if find_transport(run.step(path).transport).moved_by == "mpi"}
        kinds = {False: everything} | ({True: by_mpi} if 1 < len(by_mpi) < len(everything) else {})
        for mpi, paths in kinds.items():
            found += [_stretch(run, home, mpi, paths, *span) for span in same_fastest(run, home, paths)]
    return found


def _stretch(
    run: Run, home: str, mpi: bool, paths: set[str], best: Sequence[str], sizes: Sequence[int]
) -> Stretch:
    """With how far behind the next best path is."""
    behind: dict[str, list[float]] = {}
    for size in sizes:
        # Of all paths: those in `best` may be slower here, within intervals that overlap.
        fastest = min(run.entries[path, size].seconds for path in paths if (path, size) in run.entries)
        for path in sorted(paths - set(best)):
            if (path, size) in run.entries:
                behind.setdefault(path, []).append(run.entries[path, size].seconds / fastest)
    found = Stretch(home, mpi, sizes[0], sizes[-1], tuple(best))
    if not behind:
        return found
    nearest = min(behind, key=lambda path: min(behind[path]))
    least, most = min(behind[nearest]), max(behind[nearest])
    return structs.replace(found, next_best=nearest, least=least, most=most)
