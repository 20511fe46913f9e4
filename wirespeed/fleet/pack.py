"""Result files of a fleet packed into a Parquet file a day; the result files stay as they are."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import json, structs

from wirespeed import interrupts
from wirespeed.fleet.history import (
    CONTENTS,
    Contents,
    History,
    PackedFile,
    contents,
    existing_folder,
    key,
    read_into,
    result_files,
)
from wirespeed.fleet.observations import Observation
from wirespeed.fleet.packed import Database
from wirespeed.host.removal import remove_folder, try_to_remove_folder
from wirespeed.inputs import why
from wirespeed.results.reading import cannot, shown
from wirespeed.results.whole_file import replace_whole

LOCK = ".packed.lock"
_PARTS = ".packed-"
"""Begins the names of the folders in which days are written."""


@dataclass(frozen=True)
class Packing:
    """Figures and files that were packed."""

    days: int
    """Day files written."""
    rows: int
    files: int
    """Result files that were new or had changed."""
    unread: int
    """Result files that could not be read; the next time they are tried again."""
    warnings: tuple[str, ...] = ()


def pack(name: str, *, again: bool = False) -> Packing:
    """Adds new and changed result files to the YYYY-MM-DD.parquet of their days, in the same folder.

    A result file that is gone stays packed. `again`: every day anew, from the result files that are there.
    Raises WirespeedError.
    """
    folder = existing_folder(name)
    history, database = History(folder), Database()
    with _locked(folder, history.warnings):
        try:
            files = list(result_files(folder))
        except (OSError, ValueError) as error:
            raise cannot(f"cannot read {shown(name)}: {why(error)}") from None
        if not files:
            raise cannot(f"{shown(name)}: no file in or below this folder ends in .jsonl or .jsonl.gz")
        if (folder / CONTENTS).exists() and not (folder / CONTENTS).is_file():
            raise cannot(f"{shown(folder / CONTENTS)} is no regular file: move it away")
        known = contents(folder, history.warnings).files
        changed = [
            (key(folder, file), file, now)
            for file, now in files
            if again or not now.same(known.get(key(folder, file)))
        ]
        packed: dict[str, PackedFile] = {}
        replaced: set[str] = set()
        days: dict[str, list[Observation]] = defaultdict(list)
        rows = unread = 0
        for place, file, now in changed:
            runs: set[str] = set()
            found = read_into(history, file, runs)
            if found is None:
                if again and place in known:
                    raise cannot(f"{history.warnings[-1]}: --again would lose its figures; nothing is packed")
                unread += 1
                continue
            for observation in found:
                days[str(observation.at.date())].append(observation)
            rows += len(found)
            packed[place] = structs.replace(
                now, days=sorted({str(observation.at.date()) for observation in found})
            )
            if place in known and not again:
                replaced |= runs
                # Of days whose figures the file has no more, too.
                for day in known[place].days:
                    days[day] = days[day]
        _write(database, folder, days, None if again else replaced)
        files_packed = packed if again else {**known, **packed}
        replace_whole(folder / CONTENTS, json.format(json.encode(Contents(files_packed)), indent=1))
    return Packing(len(days), rows, len(packed), unread, tuple(history.warnings))


@interrupts.deferred()
def _write(
    database: Database, folder: Path, days: dict[str, list[Observation]], runs: set[str] | None
) -> None:
    """`runs`: those that are replaced in what a day's file has; None: nothing of it stays."""
    files = {day: folder / f"{day}.parquet" for day in days}
    for file in files.values():
        if file.exists() and not database.columns(file):
            raise cannot(f"{shown(file)} is no packed day of wirespeed: move it to another folder")
    try:
        # Nobody else can foresee its name, or put a link there.
        parts = Path(tempfile.mkdtemp(prefix=_PARTS, dir=folder))
    except OSError as error:
        raise cannot(f"cannot write into {shown(folder)}: {why(error)}") from None
    try:
        for day, file in files.items():
            interrupts.check()
            database.write_day(days[day], file, runs, parts / file.name)
    finally:
        try_to_remove_folder(parts)


def _sweep(folder: Path) -> None:
    """Removes what a killed pack of this user has left. The caller holds the lock."""
    for left in folder.glob(f"{_PARTS}*"):
        with suppress(OSError):
            state = left.lstat()
            made = re.fullmatch("[a-z0-9_]{8}", left.name.removeprefix(_PARTS)) is not None
            if made and stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid():
                remove_folder(left)


@contextmanager
def _locked(folder: Path, warnings: list[str]) -> Iterator[None]:
    """Keeps other packs out of the folder. Raises WirespeedError where one is at work."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        lock = os.open(folder / LOCK, flags, 0o666)
    except OSError as error:
        raise cannot(f"cannot write {shown(folder / LOCK)}: {why(error)}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise cannot(f"{shown(folder)}: another 'fleet pack' is at work there; try again later") from None
    except OSError:
        warnings.append("this file system has no locks; do not pack twice at once")
    else:
        _sweep(folder)
    try:
        yield
    finally:
        os.close(lock)
