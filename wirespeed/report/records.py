"""The records of a result file, sorted into runs that a report can ask questions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
CONDITIONS = ("pattern", "stopping", "device", "between", "ranks", "mpi", "launcher", "hosts", "test")
RECORDED = ("run", "step", "entry", "failure", "end")


@dataclass(frozen=True)
class Entry:
    """One path at one size."""

    path: str
    bytes: int
    seconds: float
    low: float
    high: float
    precision: float | None
    """None: too few batches for an interval."""
    samples: int
    stopped: str
    definition: str = ""
    memory: str = ""
    minimum: float | None = None
    p99: float | None = None
    details: Record = field(default_factory=dict, hash=False)
    """What the transport chose for this size."""

    @property
    def home(self) -> str:
        """Where the data lie. Only paths between alike memories are rivals."""
        return "CPU" if self.memory in ("pageable", "pinned") else "GPU"

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds

    @staticmethod
    def from_record(record: Record) -> Entry:
        """Raises KeyError, TypeError or ValueError when the record is not one that can be shown."""
        seconds = record["seconds"]
        median = float(seconds["median"])
        low, high = _optional(seconds.get("low")) or median, _optional(seconds.get("high")) or median
        if not all(math.isfinite(value) and value > 0 for value in (median, low, high)):
            raise ValueError("a time that is not above zero")
        return Entry(
            path=str(record["path"]),
            bytes=int(record["bytes"]),
            seconds=median,
            low=low,
            high=high,
            precision=_optional(record.get("precision")),
            samples=int(record.get("samples", 0)),
            stopped=str(record.get("stopped", "")),
            definition=str(record.get("definition", "")),
            memory=str(record.get("memory", "")),
            minimum=_optional(seconds.get("min")),
            p99=_optional(seconds.get("p99")),
            details=_object(record.get("details")),
        )


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def _object(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Failure:
    """A path, or one size of it, that gave no figure."""

    path: str
    bytes: int | None
    what: str
    text: str
    remedy: str | None

    @property
    def whole_path(self) -> bool:
        """Does it leave nothing of the path to measure?"""
        return self.bytes is None or self.what == "unavailable"

    @staticmethod
    def from_record(record: Record) -> Failure:
        size = record.get("bytes")
        return Failure(
            path=str(record["path"]),
            bytes=None if size is None else int(size),
            what=str(record["what"]),
            text=str(record.get("text") or ""),
            remedy=record.get("remedy") or None,
        )


@dataclass
class Run:
    """One run of the command, as far as its records go."""

    name: str = ""
    head: Record = field(default_factory=dict)
    steps: list[Record] = field(default_factory=list)
    end: Record | None = None
    entries: dict[tuple[str, int], Entry] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    odd: int = 0
    """Records that could not be shown."""

    @property
    def way(self) -> str:
        """What a figure's seconds are called: the first words of its definition."""
        first = next((entry.definition for entry in self.entries.values() if entry.definition), "one way")
        return first.split(":")[0].split(",")[0]

    def add(self, record: Record) -> None:
        """Takes one record; the last entry of a path and size counts."""
        kind = record.get("kind")
        if kind not in RECORDED:
            return
        self.records.append(record)
        try:
            if kind == "run":
                self.head = record
            elif kind == "step":
                self.steps.append(record)
            elif kind == "end":
                self.end = record
            elif kind == "entry":
                entry = Entry.from_record(record)
                self.entries[entry.path, entry.bytes] = entry
            else:
                self.failures.append(Failure.from_record(record))
        except (KeyError, TypeError, ValueError, AttributeError):
            self.odd += 1

    @property
    def paths(self) -> list[str]:
        """Paths with at least one figure, in table order."""
        from wirespeed.paths import all_paths

        known = [path.name for path in all_paths()]
        seen = list(dict.fromkeys(path for path, _ in self.entries))
        return sorted(seen, key=lambda name: known.index(name) if name in known else len(known))

    @property
    def sizes(self) -> list[int]:
        """Sizes with a figure or a failure of a path that has figures, ascending."""
        paths = self.paths
        failed = {f.bytes for f in self.failures if f.bytes is not None and f.path in paths}
        return sorted({size for _, size in self.entries} | failed)

    def of_path(self, path: str) -> list[Entry]:
        """A path's entries, smallest size first."""
        return sorted((e for e in self.entries.values() if e.path == path), key=lambda e: e.bytes)

    def failure(self, path: str, size: int) -> Failure | None:
        """What went wrong at this cell of the table, if anything did."""
        for failure in reversed(self.failures):
            if failure.path == path and failure.bytes == size:
                return failure
        return None

    def step(self, path: str) -> Record:
        """The job step that the path's figures come from; empty if the file does not say."""
        return next((step for step in reversed(self.steps) if step.get("path") == path), {})

    def named(self, path: str) -> bool:
        """Was the path asked for by its own name, rather than for being there?"""
        paths = _object(self.head.get("plan")).get("paths")
        return isinstance(paths, list) and path in paths

    @property
    def contested(self) -> list[str]:
        """Homes of data that several paths move."""
        homes = {entry.path: entry.home for entry in self.entries.values()}
        return [home for home in ("CPU", "GPU") if list(homes.values()).count(home) > 1]

    def fastest(self, size: int, home: str) -> list[Entry]:
        """The paths whose intervals overlap that of the lowest median, best first.

        None for GPU data of 0 bytes: many paths carry an empty message without any GPU.
        """
        if size == 0 and home == "GPU":
            return []
        rivals = [entry for entry in self.entries.values() if entry.bytes == size and entry.home == home]
        ranked = sorted(rivals, key=lambda entry: entry.seconds)
        return [entry for entry in ranked if entry.low <= ranked[0].high]

    @property
    def wanted_precision(self) -> float | None:
        return self._stopping().get("precision")

    @property
    def max_time(self) -> float | None:
        return self._stopping().get("max_time")

    def _stopping(self) -> Record:
        return _object(_object(self.head.get("plan")).get("stopping"))


def collect(records: Iterable[Record]) -> list[Run]:
    """The runs in a file's records, in the order in which they appear."""
    runs: dict[str, Run] = {}
    for record in records:
        if record.get("kind") in RECORDED:
            name = str(record.get("run", ""))
            runs.setdefault(name, Run(name)).add(record)
    return list(runs.values())


def joined(runs: list[Run]) -> Run:
    """The last run with what earlier ones of the same plan had: later figures count."""
    last = runs[-1]
    whole = Run(last.name)
    for run in runs:
        if run is last or _conditions(run) == _conditions(last):
            for record in run.records:
                whole.add(record)
    whole.head, whole.end = last.head, last.end
    return whole


def _conditions(run: Run) -> str:
    """What of a plan its figures depend on."""
    plan = _object(run.head.get("plan"))
    return json.dumps([plan.get(name) for name in CONDITIONS], sort_keys=True, default=str)
