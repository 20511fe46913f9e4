"""Paths of a run that delivered wrong bytes, and the others that cross the same peer access."""

from __future__ import annotations

from contextlib import suppress

from wirespeed.errors import WirespeedError
from wirespeed.paths import find_path
from wirespeed.results.runs import Run
from wirespeed.units import format_size


def wrong_bytes(run: Run) -> dict[str, list[str]]:
    """Path -> what was wrong, a line for each size: by failed checks and by messages of soaks."""
    found: dict[str, list[str]] = {}
    for failure in run.failures:
        if failure.what == "mismatch":
            size = "" if failure.bytes is None else f" at {format_size(failure.bytes)}"
            found.setdefault(failure.path, []).append(f"{failure.path}{size}: {failure.text}")
    for soak in run.soaks.values():
        if soak.wrong.total:
            where = f"{soak.path} at {format_size(soak.bytes)}"
            text = f"{where}: {soak.wrong.total:,} of {soak.messages:,} messages are wrong"
            found.setdefault(soak.path, []).append(text)
    return found


def over_peer_access(path: str) -> bool:
    """Do bytes between GPUs of a host go from one GPU's memory straight into the other's?"""
    with suppress(WirespeedError):
        known = find_path(path)
        return known.claims_direct and not known.intra_rank and not known.work_alone
    return False


def also_distrusted(run: Run) -> list[str]:
    """Measured paths over peer access whose bytes were right, where another such path's were not."""
    wrong = wrong_bytes(run)
    if not any(map(over_peer_access, wrong)):
        return []
    measured = dict.fromkeys(path for path, _ in run.entries)
    return [path for path in measured if path not in wrong and over_peer_access(path)]
