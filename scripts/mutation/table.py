"""The table of tests/mutants.toml: rooms with their files and tests, and mutants that need not be killed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


@dataclass(frozen=True)
class Room:
    """Files that belong together, and the tests that answer for them; paths from the project's folder."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can or should see, and why."""

    file: str
    line: str
    """The source line's text, without the blanks around it."""
    mutation: str
    """As the tool prints it: "a < b -> a <= b"."""
    why: str


@dataclass(frozen=True)
class Table:
    """All that the file says."""

    root: Path
    rooms: dict[str, Room]
    equivalents: tuple[Equivalent, ...]


def read_table(file: Path) -> Table:
    """Paths and globs in it start at the folder that holds the file's own. Raises ValueError."""
    root = file.resolve().parents[1]
    told = _toml.loads(file.read_text("utf-8"))
    rooms = {
        name: Room(name, _listed(root, name, room, "files"), _listed(root, name, room, "tests"))
        for name, room in told["rooms"].items()
    }
    return Table(root, rooms, tuple(Equivalent(**one) for one in told.get("equivalent", ())))


def _listed(root: Path, name: str, room: Mapping[str, Any], key: str) -> tuple[str, ...]:
    if not room.get(key):
        raise ValueError(f"the table's room {name} has no {key}")
    return _found(root, room[key])


def _found(root: Path, globs: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for glob in globs:
        files = sorted(str(file.relative_to(root)) for file in root.glob(glob))
        if not files:
            raise ValueError(f"the table names {glob}, but there is no such file")
        found.update(dict.fromkeys(files))
    return tuple(found)
