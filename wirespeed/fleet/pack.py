"""Result files of a fleet packed into a Parquet file a day; the result files stay as they are."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from wirespeed.fleet.history import CONTENTS, contents, read_all, state
from wirespeed.fleet.observations import Observation
from wirespeed.fleet.packed import connect, write_day
from wirespeed.results.reading import cannot, shown, why
from wirespeed.results.whole_file import write_whole


@dataclass(frozen=True)
class Packing:
    """What was packed."""

    days: int
    """Day files written."""
    rows: int
    files: int
    """Result files that were new or had changed."""
    warnings: tuple[str, ...] = ()


def pack(name: str, *, again: bool = False) -> Packing:
    """Adds new and changed result files to the YYYY-MM-DD.parquet of their days, in the same folder.

    A result file that is gone stays packed. `again`: every day anew, from the result files that are there.
    Raises WirespeedError.
    """
    folder = Path(name)
    connect().close()
    try:
        if not folder.is_dir():
            raise cannot(f"{shown(name)} is no folder: name one that has the result files of all nodes")
        files = sorted(folder.rglob("*.jsonl"))
        states = {str(file.relative_to(folder)): state(file) for file in files}
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(name)}: {why(error)}") from None
    if not files:
        raise cannot(f"{shown(name)}: no file in or below this folder ends in .jsonl")
    known = {} if again else contents(folder)
    changed = [
        file for file, now in zip(files, states.values(), strict=True) if known.get(_key(folder, file)) != now
    ]
    history, runs = read_all(folder, changed)
    days: dict[date, list[Observation]] = defaultdict(list)
    for one in history.loose:
        days[one.at.date()].append(one)
    for day, rows in days.items():
        write_day(rows, folder / f"{day}.parquet", set() if again else runs, anew=again)
    write_whole(folder / CONTENTS, json.dumps({**known, **states}, indent=0))
    return Packing(len(days), len(history.loose), len(changed), tuple(history.warnings))


def _key(folder: Path, file: Path) -> str:
    return str(file.relative_to(folder))
