"""Files of requirements, and results to hold against them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.records import end, head

Record = dict[str, Any]
Check = Callable[..., tuple[int, list[str], str]]


def site(sizes: str, path: str = "host", more: str = "") -> str:
    return f'[[require]]\npath = "{path}"\n{more}\n[require.sizes]\n{sizes}\n'


def write(file: Path, *records: Record, plan: Record | None = None) -> Path:
    start = head()
    start["plan"] |= plan or {}
    lines = (
        {"pattern": start["plan"]["pattern"], **record, "run": "r"} for record in (start, *records, end())
    )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def write_runs(*launches: Record | list[Record]) -> Path:
    """r.jsonl with a run for each launch."""
    lines: list[Record] = []
    for number, found in enumerate(launches):
        entries = found if isinstance(found, list) else [found]
        lines += ({**line, "run": f"r{number}"} for line in (head(), *entries, end()))
    file = Path("r.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file
