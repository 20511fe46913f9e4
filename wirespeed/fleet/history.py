"""A folder with the result files of a fleet, and days of them packed into Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from msgspec import Struct, field

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.names import node_name, not_a_node
from wirespeed.fleet.observations import Observation, observations
from wirespeed.fleet.packed import Packed
from wirespeed.fleet.state import SilentNode, silent_below
from wirespeed.fleet.window import HistoryWindow, NodeFacts, facts_of, window_of
from wirespeed.inputs import files_below, why
from wirespeed.job.plan import Plan
from wirespeed.results.decoding import printable
from wirespeed.results.parts import Whole, moment
from wirespeed.results.reading import cannot, is_named_so, read, read_json, shown
from wirespeed.results.runs import Run, collect

CONTENTS = "packed.json"
"""Names the result files that are in a folder's Parquet files."""


class PackedFile(Struct, frozen=True):
    """A result file as it was when it was packed; `bytes` and `changed_ns` tell a later change."""

    bytes: Whole
    changed_ns: int
    """Time of the last change, in nanoseconds since 1970."""
    days: list[str] = field(default_factory=list)
    """Days that have its figures: 2026-11-22."""

    def same(self, other: PackedFile | None) -> bool:
        """Has the file not changed since?"""
        return other is not None and (self.bytes, self.changed_ns) == (other.bytes, other.changed_ns)


class Contents(Struct):
    """The content of packed.json."""

    files: dict[str, PackedFile] = field(default_factory=dict)
    """By their names below the folder."""


BESIDE = ("budget", "out", "resume", "debug", "picture", "timeline", "timing")
"""Fields of a plan that do not change what is measured."""
AHEAD = timedelta(hours=1)
"""A figure dated further ahead of now than this was not measured yet."""


@dataclass
class History:
    """Records of a fleet: observations of result files, and packed days."""

    folder: Path
    contended: bool = False
    """Pairs whose ranks waited for CPUs count, too."""
    observed: list[Observation] = dataclass_field(default_factory=list)
    """Observations of result files that are in no packed day, or have changed since."""
    packed: Packed | None = None
    warnings: list[str] = dataclass_field(default_factory=list)
    files: int = 0
    """Result files read."""
    ahead: dict[str, datetime] = dataclass_field(default_factory=dict)
    """Files with figures that are dated ahead, which do not count, and the latest date."""
    begun: dict[tuple[str, str], tuple[Path, datetime]] = dataclass_field(default_factory=dict)
    """Runs that did not end, by what they were to measure and where: the latest's file, and when it began."""
    ended: dict[tuple[str, str], datetime] = dataclass_field(default_factory=dict)
    """Runs that did end, by the same: when the latest began."""
    latest: datetime = dataclass_field(
        default_factory=lambda: datetime.now(timezone.utc).replace(tzinfo=None) + AHEAD
    )
    """In UTC: what is later is dated ahead."""

    @property
    def loose(self) -> list[Observation]:
        """The observed that count."""
        return [observation for observation in self.observed if observation.counts(self.contended)]

    @property
    def newest(self) -> datetime:
        """When the last figure was measured. Raises WirespeedError if there is none."""
        moments = [observation.at for observation in self.loose]
        if self.packed and (last := self.packed.newest(self.latest)):
            moments.append(last)
        if not moments:
            waited = (
                f" ({len(self.observed)} of ranks that waited for CPUs do not count; --contended)"
                if self.observed
                else ""
            )
            names = ", ".join(list(self.ahead)[:3])
            ahead = f"; dated ahead, which does not count: {names}" if self.ahead else ""
            raise WirespeedError(
                f"{shown(self.folder)}: {self.files} result files, no figure of one node or of two"
                f"{waited}{ahead}",
                ExitCode.CANNOT_WRITE,
            )
        return max(moments)

    def window(self, begin: datetime, end: datetime) -> HistoryWindow:
        """Independent times from `begin` until before `end`."""
        loose = [observation for observation in self.loose if begin <= observation.at < end]
        return self.packed.window(begin, end, loose) if self.packed else window_of(loose)

    def facts(self, begin: datetime, end: datetime) -> NodeFacts:
        """Driver, MPI and kernel of each node in these days."""
        loose = [observation for observation in self.loose if begin <= observation.at < end]
        rows = [
            (observation.one, observation.other, observation.driver, observation.mpi, observation.kernel)
            for observation in loose
        ]
        return facts_of([*rows, *(self.packed.facts(begin, end) if self.packed else ())])

    def silent(self, begin: datetime) -> list[SilentNode]:
        """Nodes that fell silent in a `fleet run` since then."""
        return list(silent_below(self.folder, begin, self.warnings))

    def unjudged(self, begin: datetime, end: datetime) -> set[str]:
        """Nodes without a figure that counts, because their ranks waited for CPUs."""
        nodes = self.packed.nodes(begin, end) if self.packed else {}
        for observation in self.observed:
            if begin <= observation.at < end:
                nodes |= {
                    node: nodes.get(node, False) or observation.counts(self.contended)
                    for node in observation.nodes
                }
        return {node for node, counts in nodes.items() if not counts}

    def unfinished(self, begin: datetime, end: datetime) -> list[str]:
        """Result files of runs that did not end, and that no other run has measured to the end since."""
        never = datetime.min
        left = [
            file
            for key, (file, at) in self.begun.items()
            if self.ended.get(key, never) < at and begin <= at < end
        ]
        return list(map(shown, left))

    def note(self, file: Path, run: Run) -> None:
        """Notes whether a run has ended."""
        if not (at := moment(run.head.started)):
            return
        # Where results go, and what is printed beside them, is not what is measured.
        measures = replace(run.head.plan, **{name: getattr(Plan, name) for name in BESIDE})
        key = str(measures), run.head.environment.host
        if not run.interrupted:
            self.ended[key] = max(at, self.ended.get(key, at))
        elif key not in self.begun or self.begun[key][1] <= at:
            self.begun[key] = file, at

    def last_days(self, days: float | None) -> tuple[datetime, datetime]:
        """Begin and end of the latest days that have figures; None: of all that are in no packed day."""
        end = self.newest + timedelta(microseconds=1)
        if days is None:
            return min([end, *(observation.at for observation in self.loose)]), end
        return end - timedelta(days=min(days, (end - datetime.min).days)), end


def read_history(name: str, contended: bool = False) -> History:
    """All result files below a folder, and its packed days. Raises WirespeedError if it cannot be read.

    `contended`: also the pairs whose ranks waited for CPUs.
    """
    folder = existing_folder(name)
    history = History(folder, contended)
    try:
        # In this order, a day that is packed meanwhile is read from the result files.
        known = contents(folder, history.warnings).files
        days = [file for file in files_below(folder) if file.suffix == ".parquet"]
        changed = [file for file, now in result_files(folder) if not now.same(known.get(key(folder, file)))]
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(name)}: {why(error)}") from None
    if days:
        history.packed = Packed(days, contended, history.warnings)
        for file, day in history.packed.after(history.latest):
            history.ahead[shown(file)] = datetime.combine(day, datetime.min.time())
    runs: set[str] = set()
    for file in changed:
        for seen in read_into(history, file, runs) or ():
            if seen.at <= history.latest:
                history.observed.append(seen)
            else:
                name = shown(file)
                history.ahead[name] = max(seen.at, history.ahead.get(name, seen.at))
    if history.packed:
        # A file that has grown since is read again: its packed rows are not counted twice.
        history.packed.without = runs
    return history


def existing_folder(name: str) -> Path:
    """The folder of this name. Raises WirespeedError."""
    try:
        if Path(name).is_dir():
            return Path(name)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(name)}: {why(error)}") from None
    raise cannot(f"{shown(name)} is no folder: name one that has the result files of all nodes")


def contents(folder: Path, warnings: list[str]) -> Contents:
    """Rows of the packed days; empty without any, and with a warning where they cannot be read."""
    file = folder / CONTENTS
    if not file.exists():
        return Contents()
    try:
        return read_json(Contents, file)
    except WirespeedError as error:
        warnings.append(f"{error}; all result files are read")
        return Contents()


def result_files(folder: Path) -> Iterator[tuple[Path, PackedFile]]:
    """The result files below a folder, and their present state."""
    for file in filter(is_named_so, files_below(folder)):
        known = file.stat()
        yield file, PackedFile(known.st_size, known.st_mtime_ns)


def key(folder: Path, file: Path) -> str:
    """A file's name in packed.json."""
    return printable(str(file.relative_to(folder)))


def read_into(history: History, file: Path, seen: set[str]) -> list[Observation] | None:
    """A file's observations; None of one that cannot be read, with a warning.

    A run that was in another file, too, counts once: `seen` gets the names of the file's runs.
    """
    try:
        results = read(file)
    except WirespeedError as error:
        history.warnings.append(f"{error}; left out")
        return None
    history.files += 1
    history.warnings += [f"{shown(file)}: {line}" for line in results.warnings]
    runs = [run for run in collect(results.records) if run.name not in seen]
    seen.update(run.name for run in runs)
    for run in runs:
        history.note(file, run)
    if impossible := sum(len(run.impossible) for run in runs):
        figures = f"{impossible} figure{'s' if impossible > 1 else ''} that cannot be true"
        history.warnings.append(f"{shown(file)}: {figures}, left out ('wirespeed show' says why)")
    hosts = dict.fromkeys(rank.host for run in runs for step in run.steps for rank in step.ranks)
    history.warnings += [
        f"{shown(file)}: {not_a_node(host)}" for host in hosts if host and not node_name(host)
    ]
    return list(observations(runs))
