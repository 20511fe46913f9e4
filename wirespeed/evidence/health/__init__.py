"""A host's health: errors that its wires and memories counted, and what holds clocks back.

It is read before a path's first timed iteration and after its last; `changes()` says what came between. Each
module in this package knows one kind of hardware and has `find(devices, several_hosts)`, which returns a
HealthSource, or None where this host has none. A new module is found without being listed anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Place = str
"""Part that a count belongs to, by its driver's name: "GPU 0 link 3", "mlx5_0 port 1", "CPU"."""


@dataclass
class HealthReading:
    """One reading of a host; counts and times since an unknown moment."""

    errors: dict[tuple[Place, str], int] = field(default_factory=dict)
    """(place, kind of error) -> how many."""
    corrected: dict[tuple[Place, str], int] = field(default_factory=dict)
    """The same, of what a link corrects by itself, without sending anything again: healthy ones do, too."""
    held_s: dict[tuple[Place, str], float] = field(default_factory=dict)
    """(place, reason) -> seconds in which its clocks were held back."""
    held_times: dict[tuple[Place, str], int] = field(default_factory=dict)
    """(place, reason) -> how many times they were."""
    held_now: dict[Place, list[str]] = field(default_factory=dict)
    """Reasons why the clocks are held back at this moment; empty: they are not."""
    clocks: dict[Place, dict[str, int]] = field(default_factory=dict)
    """Megahertz, by the clock's name."""
    notes: list[str] = field(default_factory=list)
    """Faults from before this run."""
    lacks: list[str] = field(default_factory=list)
    """Readings that are missing here, and why."""


class HealthSource(ABC):
    """Errors and throttling of one kind of hardware."""

    @abstractmethod
    def read(self, into: HealthReading) -> None:
        """Adds what it says now; what does not answer is left out."""

    def close(self) -> None:  # noqa: B027  most have nothing to release
        """Releases what it has opened."""


class SysfsErrors(HealthSource):
    """Error counters in files of sysfs, a number each."""

    def __init__(self, files: Mapping[tuple[Place, str], Path]) -> None:
        self._files = files

    def read(self, into: HealthReading) -> None:
        for key, file in self._files.items():
            if (value := number_in(file)) is not None:
                into.errors[key] = value


def number_in(file: Path) -> int | None:
    """The number in a file of sysfs; None where it is not there or cannot be read."""
    with suppress(OSError, ValueError):
        return int(file.read_text())
    return None


def sysfs_errors(folders: Mapping[Place, Path], names: Mapping[str, str]) -> HealthSource | None:
    """Counts in the files that exist below each place's folder; `names`: file -> kind of error."""
    found = {
        (place, what): folder / name
        for place, folder in folders.items()
        for name, what in names.items()
        if number_in(folder / name) is not None
    }
    return SysfsErrors(found) if found else None


def find_health_sources(
    devices: Sequence[Mapping[str, Any]], several_hosts: bool
) -> tuple[list[HealthSource], list[str]]:
    """The sources of this host, and a line for each one that is broken.

    `devices`: identities of the GPUs that this host's ranks use.
    """
    found, broken = [], []
    for module in sorted(iter_module.name for iter_module in pkgutil.iter_modules(__path__)):
        try:
            source = importlib.import_module(f"{__name__}.{module}").find(devices, several_hosts)
        except Exception as error:  # a broken source must not end this rank: the others wait for it
            broken.append(f"{module}: {error}")
        else:
            found += [source] if source is not None else []
    return found, broken


def read(sources: Sequence[HealthSource]) -> HealthReading:
    """Readings of all sources at this moment."""
    health = HealthReading()
    for source in sources:
        try:
            source.read(health)
        except Exception as error:  # as above
            health.lacks.append(str(error))
    return health


def changes(host: str, before: HealthReading, after: HealthReading) -> dict[str, Any]:
    """Differences between two readings, as members of a record (wirespeed/results/model.py, Health)."""
    counters = {*before.errors, *after.errors}
    broken = {key for key in counters if (key in before.errors) != (key in after.errors)}
    uncounted = {what for _, what in broken}
    clocks_before, clocks_after = _clocks(before), _clocks(after)
    gone = [f"{what} of {place}" for place, what in sorted(broken)]
    gone += [f"what holds back the clocks of {place}" for place in sorted(clocks_before ^ clocks_after)]
    return {
        "errors": _rises(host, before.errors, after.errors),
        "corrected": _rises(host, before.corrected, after.corrected),
        "throttled": _throttled(host, before, after),
        "clocks": [
            {"host": host, "place": place, "before": before.clocks.get(place, {}), "after": clocks}
            for place, clocks in after.clocks.items()
        ],
        # A counter that was there once only has told nothing, and a part that is gone may be the broken one.
        "counted": sorted({what for _, what in counters} - uncounted),
        "watched": sorted(f"{host} {place}" for place in clocks_before & clocks_after),
        "notes": [f"{host} {note}" for note in after.notes],
        "lacks": [
            *dict.fromkeys([*before.lacks, *after.lacks]),
            *(f"{host}: {what}: read before or after the path only" for what in gone),
        ],
    }


def _clocks(reading: HealthReading) -> set[Place]:
    """Places whose clocks are known to be held back or not."""
    return {*(place for place, _ in [*reading.held_s, *reading.held_times]), *reading.held_now}


def _rises(
    host: str, before: Mapping[tuple[Place, str], int], after: Mapping[tuple[Place, str], int]
) -> list[dict[str, Any]]:
    """Of each counter that has risen, by how much."""
    return [
        {"host": host, "place": place, "what": what, "count": count - before[place, what]}
        for (place, what), count in after.items()
        if count > before.get((place, what), count)
    ]


def _throttled(host: str, before: HealthReading, after: HealthReading) -> list[dict[str, Any]]:
    """What held clocks back between the readings, or at one of them."""
    found: dict[tuple[Place, str], dict[str, Any]] = {}
    rises: tuple[tuple[str, Mapping[Any, float], Mapping[Any, float]], ...] = (
        ("seconds", before.held_s, after.held_s),
        ("times", before.held_times, after.held_times),
    )
    for name, old, new in rises:
        for key, amount in new.items():
            if amount > old.get(key, amount):
                found.setdefault(key, {})[name] = amount - old[key]
    for name, reading in (("before", before), ("after", after)):
        for place, reasons in reading.held_now.items():
            for reason in reasons:
                found.setdefault((place, reason), {})[name] = True
    return [{"host": host, "place": place, "reason": why, **how} for (place, why), how in found.items()]
