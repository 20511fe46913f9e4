"""A folder with the result files of a fleet, and days of them packed into Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.observations import Observation, counts, observations
from wirespeed.fleet.packed import Packed
from wirespeed.fleet.state import SilentNode, silent_below
from wirespeed.fleet.window import Facts, Window, facts_of, window_of
from wirespeed.results.reading import cannot, read, shown, why
from wirespeed.results.runs import collect

CONTENTS = "packed.json"
"""Names the result files that are in a folder's Parquet files, with their size and time of change."""


@dataclass
class History:
    """What is known of a fleet: observations of result files, and packed days."""

    folder: Path
    loose: list[Observation] = field(default_factory=list)
    """Of result files that are in no packed day, or have grown since."""
    packed: Packed | None = None
    warnings: list[str] = field(default_factory=list)
    files: int = 0
    """Result files read."""
    contended: int = 0
    """Figures left out of them because ranks waited for CPUs."""
    waiting: set[str] = field(default_factory=set)
    """Nodes of those figures."""

    @property
    def newest(self) -> datetime:
        """When the last figure was measured. Raises WirespeedError if there is none."""
        moments = [one.at for one in self.loose]
        if self.packed and (last := self.packed.newest):
            moments.append(last)
        if not moments:
            waited = (
                f" ({self.contended} of ranks that waited for CPUs do not count; --contended)"
                if self.contended
                else ""
            )
            raise WirespeedError(
                f"{shown(self.folder)}: {self.files} result files, no figure of one node or of two{waited}",
                ExitCode.CANNOT_WRITE,
            )
        return max(moments)

    def window(self, begin: datetime, end: datetime) -> Window:
        """The medians of what was measured from `begin` until before `end`."""
        loose = [one for one in self.loose if begin <= one.at < end]
        return self.packed.window(begin, end, loose) if self.packed else window_of(loose)

    def facts(self, begin: datetime, end: datetime) -> Facts:
        """Driver, MPI and kernel of each node in these days."""
        loose = [one for one in self.loose if begin <= one.at < end]
        rows = [(one.one, one.other, one.driver, one.mpi, one.kernel) for one in loose]
        return facts_of([*rows, *(self.packed.facts(begin, end) if self.packed else ())])

    def silent(self, begin: datetime) -> list[SilentNode]:
        """Nodes that fell silent in a `fleet run` since then."""
        return list(silent_below(self.folder, begin))

    @property
    def unjudged(self) -> set[str]:
        """Nodes without a figure that counts, because their ranks waited for CPUs."""
        return self.waiting - {node for one in self.loose for node in (one.one, one.other)}

    def last_days(self, days: float | None) -> tuple[datetime, datetime]:
        """Begin and end of the latest days that have figures; None: of all that are in no packed day."""
        end = self.newest + timedelta(microseconds=1)
        if days is None:
            return min([end, *(one.at for one in self.loose)]), end
        return end - timedelta(days=days), end


def read_history(name: str, contended: bool = False) -> History:
    """All result files below a folder, and its packed days. Raises WirespeedError if it cannot be read.

    `contended`: also the result files' pairs whose ranks waited for CPUs.
    """
    folder = Path(name)
    try:
        if not folder.is_dir():
            raise cannot(f"{shown(name)} is no folder: name one that has the result files of all nodes")
        days = sorted(folder.rglob("*.parquet"))
        history = History(folder, packed=Packed(days) if days else None)
        changed = list(_unpacked(folder, contents(folder)))
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(name)}: {why(error)}") from None
    runs = _read_into(history, changed, contended)
    if history.packed:
        # A file that has grown since is read again: its packed rows are not counted twice.
        history.packed.without = runs
    return history


def read_all(folder: Path, files: Iterable[Path]) -> tuple[History, set[str]]:
    """The observations of these result files, and the names of their runs."""
    history = History(folder)
    return history, _read_into(history, files)


def _read_into(history: History, files: Iterable[Path], contended: bool = False) -> set[str]:
    """Adds the files' observations; returns the names of their runs."""
    runs: set[str] = set()
    for file in files:
        history.loose += _read(file, history, runs, contended)
    return runs


def contents(folder: Path) -> dict[str, list[int]]:
    """The files in the packed days: name below the folder, size, time of change in ns; {} without any."""
    try:
        found = json.loads((folder / CONTENTS).read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def state(file: Path) -> list[int]:
    """Size and time of change of a file, by which a later change is noticed."""
    known = file.stat()
    return [known.st_size, known.st_mtime_ns]


def _unpacked(folder: Path, packed: dict[str, list[int]]) -> Iterator[Path]:
    for file in sorted(folder.rglob("*.jsonl")):
        if packed.get(str(file.relative_to(folder))) != state(file):
            yield file


def _read(file: Path, history: History, seen: set[str], contended: bool) -> list[Observation]:
    """A file's observations; a run that was in another file, too, counts once."""
    try:
        results = read(file)
    except WirespeedError as error:
        history.warnings.append(f"{error}; left out")
        return []
    history.files += 1
    history.warnings += [f"{shown(file)}: {line}" for line in results.warnings]
    runs = [run for run in collect(results.records) if run.name not in seen]
    seen.update(run.name for run in runs)
    kept = []
    for one, waited in observations(runs):
        if counts(one, waited, contended):
            kept.append(one)
        else:
            history.contended += 1
            history.waiting |= {one.one, one.other} - {""}
    return kept
