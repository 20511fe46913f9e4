"""The records of a result file, sorted into runs that a report can ask questions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wirespeed.limits.ceilings import Ceiling, Used, ceiling, facts_of
from wirespeed.results.validate import fit

if TYPE_CHECKING:
    from wirespeed.patterns import Pattern

Record = dict[str, Any]
CONDITIONS = (
    *(
        "pattern",
        "options",
        "beside",
        "stopping",
        "device",
        "between",
        "ranks",
        "mpi",
        "launcher",
        "hosts",
        "test",
    ),
)
AS_FAST = 1.25
SHORTEST = 1e-15
"""Seconds: no clock tells less, and rates stay finite."""
RECORDED = ("run", "step", "entry", "wires", "evidence", "failure", "end")


@dataclass(frozen=True)
class Member:
    """One team's figure: a pair's, a group's, a rank's."""

    name: str
    seconds: float
    low: float
    high: float

    @staticmethod
    def from_record(record: Record) -> Member:
        seconds = record["seconds"]
        median = float(seconds["median"])
        low, high = _optional(seconds.get("low")), _optional(seconds.get("high"))
        return Member(
            str(record["name"]), median, median if low is None else low, median if high is None else high
        )


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
    pattern: str = ""
    moved: int | None = None
    """Bytes whose rate is meant; None: those of one message."""
    derived: tuple[tuple[str, str, float], ...] = ()
    """(name, unit, value in that unit) of other figures of the same samples."""
    members: tuple[Member, ...] = ()
    """Each team's figure, where there are several."""

    @property
    def home(self) -> str:
        """Where the data lie. Only paths between alike memories are rivals."""
        return "CPU" if self.memory in ("pageable", "pinned") else "GPU"

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.amount / self.seconds

    @property
    def amount(self) -> int:
        """Bytes whose rate is meant."""
        return self.bytes if self.moved is None else self.moved

    @staticmethod
    def from_record(record: Record) -> Entry:
        """Raises KeyError, TypeError or ValueError when the record is not one that can be shown."""
        seconds = record["seconds"]
        median = float(seconds["median"])
        low, high = _optional(seconds.get("low")) or median, _optional(seconds.get("high")) or median
        if not all(math.isfinite(value) and value > SHORTEST for value in (median, low, high)):
            raise ValueError("a time that cannot be")
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
            pattern=str(record.get("pattern", "")),
            moved=None if record.get("moved") is None else int(record["moved"]),
            derived=tuple(
                (str(one["name"]), str(one["unit"]), float(one["median"]))
                for one in record.get("derived") or ()
                if one.get("median") is not None
            ),
            members=tuple(map(Member.from_record, record.get("members") or ())),
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


@dataclass(frozen=True)
class Evidence:
    """Which wires carried the bytes of one path at one size."""

    path: str
    bytes: int
    verdict: str
    text: str
    suspicious: str | None = None
    record: Record = field(default_factory=dict, hash=False)
    """All that was counted."""

    @staticmethod
    def from_record(record: Record) -> Evidence:
        return Evidence(
            path=str(record["path"]),
            bytes=int(record["bytes"]),
            verdict=str(record["verdict"]),
            text=str(record["text"]),
            suspicious=record.get("suspicious") or None,
            record=record,
        )


@dataclass
class Run:
    """One run of the command, as far as its records go."""

    name: str = ""
    head: Record = field(default_factory=dict)
    steps: list[Record] = field(default_factory=list)
    end: Record | None = None
    entries: dict[tuple[str, int], Entry] = field(default_factory=dict)
    evidence: dict[tuple[str, int], Evidence] = field(default_factory=dict)
    wires: list[Record] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    odd: int = 0
    """Records that could not be shown."""

    @property
    def way(self) -> str:
        """What a figure's seconds are called: the first words of its definition."""
        first = next((entry.definition for entry in self.entries.values() if entry.definition), "one way")
        return first.split(":")[0].split(",")[0]

    @property
    def view(self) -> str:
        """How the pattern wants to be shown (wirespeed/patterns/base.py)."""
        return self._pattern.view if self._pattern else "sizes"

    @property
    def _pattern(self) -> Pattern | None:
        from wirespeed.patterns import all_patterns

        return all_patterns().get(str(_object(self.head.get("plan")).get("pattern")))

    @property
    def given_options(self) -> list[str]:
        """The pattern's options that are not what they are by default: 'group 4', 'both ways'."""
        usual = {one.key: one.default for one in self._pattern.options} if self._pattern else {}
        chosen = {name: value for name, value in self.options.items() if value != usual.get(name)}
        words = {name: name.replace("_", " ") for name in chosen}
        return [words[name] if value is True else f"{words[name]} {value}" for name, value in chosen.items()]

    @property
    def beside(self) -> str | None:
        """The pattern that ran at the same time."""
        return _object(self.head.get("plan")).get("beside")

    @property
    def published(self) -> bool:
        """Are published curves figures of the same pattern?"""
        return self._pattern is None or self._pattern.published

    @property
    def groups_by_host(self) -> bool:
        """Does the pattern take it that ranks stand host by host?"""
        return bool(self._pattern and self._pattern.by_host)

    @property
    def options(self) -> Record:
        """The pattern's own options."""
        return dict(_object(self.head.get("plan")).get("options") or ())

    def ceiling(self, path: str) -> Ceiling | None:
        """What the wires under this path can carry, as far as they are known."""
        counted = [self.evidence[key] for key in sorted(self.evidence) if key[0] == path]
        told = [one.record for one in counted if one.verdict != "unknown"]
        used = Used(
            pattern=str(_object(self.head.get("plan")).get("pattern")),
            step=self.step(path),
            width=int(self.options.get("group") or 1),
            wires=facts_of(self.wires, path),
            evidence=told[-1] if told else {},
        )
        return ceiling(used)

    def add(self, record: Record) -> None:
        """Takes one record; the last entry of a path and size counts."""
        kind = record.get("kind")
        if kind not in RECORDED:
            return
        fitted = fit(record)
        self.records.append(fitted or record)
        if fitted is None:
            self.odd += 1
            return
        record = fitted
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
            elif kind == "evidence":
                proof = Evidence.from_record(record)
                self.evidence[proof.path, proof.bytes] = proof
            elif kind == "wires":
                self.wires.append(record)
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
        """Homes of data that several paths move; copies of different kinds are no rivals."""
        if self._pattern and self._pattern.intra_rank:
            return []
        homes = {entry.path: entry.home for entry in self.entries.values()}
        return [home for home in ("CPU", "GPU") if list(homes.values()).count(home) > 1]

    def fastest(self, size: int, home: str) -> list[Entry]:
        """The paths whose intervals overlap that of the lowest median, best first.

        An interval so wide that it would let a path in that took AS_FAST times as long says nothing.
        None for GPU data of 0 bytes: many paths carry an empty message without any GPU.
        """
        if size == 0 and home == "GPU":
            return []
        rivals = [entry for entry in self.entries.values() if entry.bytes == size and entry.home == home]
        ranked = sorted(rivals, key=lambda entry: entry.seconds)
        most = AS_FAST * ranked[0].seconds if ranked else 0.0
        return [entry for entry in ranked if entry.low <= ranked[0].high and entry.seconds <= most]

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
