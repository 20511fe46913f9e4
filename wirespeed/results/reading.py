"""Result files read: every good line is used, every bad one is named."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.record import SCHEMA, Record

if TYPE_CHECKING:
    from numpy import ndarray

LONGEST_LINE = 64 << 20
START = b'{"kind":"run",'
"""How a result file begins, even one that was cut off in its first line."""

_TEXT, _WHOLE, _NUMBER, _OBJECT = (str,), (int,), (int, float), (dict,)
_NEEDED: dict[str, dict[str, tuple[type, ...]]] = {
    "run": {"run": _TEXT},
    "step": {"run": _TEXT, "step": _WHOLE, "path": _TEXT},
    "entry": {"run": _TEXT, "pattern": _TEXT, "path": _TEXT, "bytes": _WHOLE, "seconds": _OBJECT},
    "failure": {"run": _TEXT, "path": _TEXT, "what": _TEXT},
    "evidence": {"run": _TEXT, "path": _TEXT, "bytes": _WHOLE, "verdict": _TEXT, "text": _TEXT},
    "wires": {"run": _TEXT, "path": _TEXT},
    "end": {"run": _TEXT},
}
"""Without these, a record says nothing. The whole truth is in schema.json."""


@dataclass
class Results:
    """A result file's records, in the order written."""

    file: str
    runs: list[Record] = field(default_factory=list)
    steps: list[Record] = field(default_factory=list)
    entries: list[Record] = field(default_factory=list)
    failures: list[Record] = field(default_factory=list)
    evidence: list[Record] = field(default_factory=list)
    wires: list[Record] = field(default_factory=list)
    ends: list[Record] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    """All of the above together."""
    warnings: list[str] = field(default_factory=list)
    """One line for each that was left out, or may be misunderstood."""

    def table(self) -> dict[str, ndarray[Any, Any]]:
        """The entries as numpy arrays, one a column, units in the names; docs/results.md lists them."""
        from wirespeed.results.export import to_arrays

        return to_arrays(self.entries)

    def frame(self) -> Any:
        """The same as a pandas DataFrame. Raises WirespeedError where pandas is not installed."""
        from wirespeed.results.export import to_frame

        return to_frame(self.entries)

    def add(self, record: Record, line: int) -> None:
        """Takes what a line held; kinds unknown to this version are passed over."""
        kind = record.get("kind")
        needed = _NEEDED.get(kind) if isinstance(kind, str) else {"kind": _TEXT}
        if needed is None:
            return
        for name, types in needed.items():
            if not _is(record.get(name), types):
                self._left_out(line, f"{kind or 'a record'} without a proper '{name}'")
                return
        if kind == "entry" and record["bytes"] < 0:
            self._left_out(line, "entry with a size below zero")
            return
        if kind == "entry" and not _is(record["seconds"].get("median"), _NUMBER):
            self._left_out(line, "entry without a median time")
            return
        schema = record.get("schema")
        if kind == "run" and isinstance(schema, int) and schema > SCHEMA:
            self.warnings.append(
                f"line {line}: written by a newer wirespeed (schema {schema}, known here: {SCHEMA}); "
                "read as far as it goes"
            )
        lists = {"run": self.runs, "step": self.steps, "entry": self.entries, "failure": self.failures}
        lists |= {"evidence": self.evidence, "wires": self.wires}
        lists.get(str(kind), self.ends).append(record)
        self.records.append(record)

    def add_line(self, line: bytes, number: int) -> None:
        """Takes one line of the file."""
        if not line.strip():
            return
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            torn = "cut off" if not line.endswith(b"\n") else "damaged"
            self._left_out(number, torn)
            return
        if isinstance(record, dict):
            self.add(record, number)
        else:
            self._left_out(number, "not a record")

    def _left_out(self, line: int, why: str) -> None:
        self.warnings.append(f"line {line}: {why}, left out")


def _is(value: Any, types: tuple[type, ...]) -> bool:
    """isinstance, but true and false are no numbers."""
    return isinstance(value, types) and not isinstance(value, bool)


def read(file: str | os.PathLike[str]) -> Results:
    """Reads a result file. Raises WirespeedError when it cannot be read, or is none."""
    results = Results(os.fspath(file))
    try:
        with Path(file).open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise cannot(f"{shown(file)} is a device, not a result file")
            ours = _read_lines(stream, results)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(file)}: {why(error)}") from None
    if not ours:
        raise cannot(f"{shown(file)} is not a result file of wirespeed")
    return results


def _read_lines(stream: IO[bytes], results: Results) -> bool:
    """Adds every line; True if this looks like a result file, a damaged one perhaps."""
    number, first = 0, b""
    while line := stream.readline(LONGEST_LINE):
        number += 1
        first = first or line[: len(START)]
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            results._left_out(number, "too long")
            while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            continue
        results.add_line(line, number)
    return bool(results.records) or START.startswith(first)


def cannot(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.CANNOT_WRITE)


def why(error: Exception) -> str:
    """An operating system's reason, without the number and the name."""
    return getattr(error, "strerror", None) or str(error)


def shown(file: str | os.PathLike[str]) -> str:
    """A file's name, on one line whatever is in it."""
    name = os.fspath(file)
    return name if name.isprintable() else repr(name)
