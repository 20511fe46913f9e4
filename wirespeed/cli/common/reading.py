"""Result files for the commands that print them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.report.records import Run, collect

Record = dict[str, Any]


def read_records(name: str) -> tuple[list[Record], list[int]]:
    """The records of a file, and the numbers of lines that are none. Raises WirespeedError."""
    try:
        lines = Path(name).read_bytes().splitlines()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise WirespeedError(f"cannot read {name}: {why}", ExitCode.CANNOT_WRITE) from None
    records: list[Record] = []
    damaged: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and isinstance(record.get("kind"), str):
            records.append(record)
        else:
            damaged.append(number)
    return records, damaged


def read_if_there(name: str) -> list[Record]:
    """The records of a file that may not exist yet."""
    try:
        return read_records(name)[0]
    except WirespeedError:
        return []


def read_runs(name: str) -> list[Run]:
    """The runs of a file, with a warning for what was left out. Raises WirespeedError if there is none."""
    records, damaged = read_records(name)
    runs = collect(records)
    odd = sum(run.odd for run in runs)
    if damaged:
        numbers = ", ".join(map(str, damaged[:5])) + (", ..." if len(damaged) > 5 else "")
        noun = "line" if len(damaged) == 1 else "lines"
        warn(f"{name}: {noun} {numbers} damaged, left out")
    if odd:
        warn(f"{name}: {odd} record{'s' if odd > 1 else ''} that this version cannot show, left out")
    if not runs:
        raise WirespeedError(f"{name} holds no run of wirespeed", ExitCode.CANNOT_WRITE)
    return runs


def warn(text: str) -> None:
    """A line beside the result."""
    print(f"wirespeed: warning: {text}", file=sys.stderr, flush=True)
