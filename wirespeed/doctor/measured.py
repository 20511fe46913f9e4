"""What result files say: of this machine? What was a remedy worth there, which path is best where?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirespeed import stats
from wirespeed.doctor.finding import Finding, Point, Worth
from wirespeed.errors import WirespeedError
from wirespeed.report.records import Entry, Run, collect
from wirespeed.results.store import read

PAIRS = {
    "mpi-not-aware": ("staged", "aware"),
    "mpi-aware-on-paper": ("staged", "aware"),
    "peer-access": ("nccl-nop2p", "nccl"),
    "variable-NCCL_P2P_DISABLE": ("nccl-nop2p", "nccl"),
    "variable-NCCL_P2P_LEVEL": ("nccl-nop2p", "nccl"),
    "variable-UCX_TLS-cuda_ipc": ("aware-nogdr", "aware"),
    "variable-OMPI_MCA_pml": ("staged", "aware"),
}
"""Finding -> the path that is left, and the one that there could be: their ratio is the worth."""
MOST_FILES = 20
"""How many files of a folder are looked into."""


def same_machine(run: Run, host: str, cpu: Mapping[str, Any], devices: Sequence[Mapping[str, Any]]) -> bool:
    """Was it measured on a machine of this name, CPU and GPUs? An emulated GPU is everywhere the same."""
    there = run.head.get("environment") or {}
    model = (there.get("cpu") or {}).get("model")
    if there.get("host") != host or model != cpu.get("model"):
        return False
    theirs = {str(one.get("name")) for one in there.get("devices") or () if one.get("kind") != "emulated"}
    ours = {str(one.get("name")) for one in devices if one.get("kind") not in ("emulated", "host")}
    return not theirs or theirs == ours


def beside(folder: Path) -> list[tuple[str, list[Run]]]:
    """Result files in a folder, newest first."""
    files = sorted(folder.glob("wirespeed-*.jsonl"), key=lambda file: file.stat().st_mtime, reverse=True)
    found = []
    for file in files[:MOST_FILES]:
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
        left, could = pair
        points = [
            point(run.entries[left, size], run.entries[could, size])
            for size in run.sizes
            if (left, size) in run.entries and (could, size) in run.entries
        ]
        if points:
            return dataclasses.replace(finding, worth=Worth(f"{left}, then {could}", tuple(points), file))
    return finding


def point(before: Entry, after: Entry) -> Point:
    """Two figures of one size, and their ratio with its interval where both have one."""
    ratio, low, high = stats.ratio_interval(
        (before.seconds, before.low, before.high), (after.seconds, after.low, after.high)
    )
    known = before.precision is not None and after.precision is not None
    return Point(
        after.bytes, before.seconds, after.seconds, ratio, low if known else None, high if known else None
    )


@dataclass(frozen=True)
class Stretch:
    """Neighbouring sizes at which the same paths are fastest."""

    home: str
    """Where the data lie: CPU or GPU."""
    first: int
    last: int
    paths: tuple[str, ...]
    """Those whose intervals overlap at all of these sizes, best first."""
    gain: float | None = None
    """How many times longer the next best path takes, at the size where it is closest."""
    next_best: str = ""


def stretches(run: Run) -> list[Stretch]:
    """Which path is best at which size, and where that changes."""
    found: list[Stretch] = []
    for home in run.contested:
        for size in run.sizes:
            best = run.fastest(size, home)
            if not best:
                continue
            one = _stretch(run, home, size, best)
            last = found[-1] if found else None
            common = tuple(path for path in last.paths if path in one.paths) if last else ()
            if last and last.home == home and common:
                closer = one if (one.gain or 9e9) < (last.gain or 9e9) else last
                found[-1] = Stretch(home, last.first, size, common, closer.gain, closer.next_best)
            else:
                found.append(one)
    return found


def _stretch(run: Run, home: str, size: int, best: list[Entry]) -> Stretch:
    names = tuple(entry.path for entry in best)
    others = [
        entry
        for entry in run.entries.values()
        if entry.bytes == size and entry.home == home and entry.path not in names
    ]
    nearest = min(others, key=lambda entry: entry.seconds, default=None)
    gain = nearest.seconds / best[0].seconds if nearest else None
    return Stretch(home, size, size, names, gain, nearest.path if nearest else "")
