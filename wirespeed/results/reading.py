"""Result files read: every good line is used, every bad one is named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from wirespeed import inputs
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.inputs import why
from wirespeed.results.decoding import DoesNotFit, fitted
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.former import as_now
from wirespeed.results.model import (
    KINDS,
    SCHEMA,
    Doctor,
    End,
    Entry,
    Evidence,
    Failure,
    Head,
    Health,
    Record,
    StepRecord,
    Wires,
)
from wirespeed.results.soak import Soak
from wirespeed.units import counted, format_size

if TYPE_CHECKING:
    from numpy import ndarray

Kind = TypeVar("Kind")
MOST_WARNINGS = 1000
"""Lines left out of one file that are named; those behind them are counted."""
START = b'{"kind":"run",'
"""Beginning of a result file, even of one that was cut off in its first line."""
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_ESCAPED = re.compile(r'\\[^"\\/]')
"""A text with a control character, perhaps."""
_LONG = re.compile(r"[\s:,[-]\d{19}")
"""A whole number that may be too large."""
FORMER = (("jacobi", "depth", "1"),)
"""Options that are no more, by pattern, and the value that every run has now."""


class _All(Generic[Kind]):
    """A member of Results that lists its records of one kind."""

    def __init__(self, kind: type[Kind]) -> None:
        self._kind = kind

    def __get__(self, results: Results, owner: type[Results]) -> list[Kind]:
        return [record for record in results.records if isinstance(record, self._kind)]


@dataclass(repr=False)
class Results:
    """A result file's records (wirespeed/results/model.py), in the order written."""

    file: str
    records: list[Record] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """One line for each that was left out, or may be misunderstood; for MOST_WARNINGS at most."""
    unnamed: int = 0
    """Lines that were left out without a warning."""

    runs = _All(Head)
    steps = _All(StepRecord)
    failures = _All(Failure)
    evidence = _All(Evidence)
    health = _All(Health)
    wires = _All(Wires)
    soaks = _All(Soak)
    doctors = _All(Doctor)
    ends = _All(End)

    @property
    def findings(self) -> list[RecordedFinding]:
        """The doctor's, as it last examined the machine."""
        return [*self.doctors[-1].findings] if self.doctors else []

    @property
    def entries(self) -> list[Entry]:
        """The figures of all launches; those that cannot be true say so (`impossible`)."""
        from wirespeed.results.runs import collect

        runs = {run.name: run for run in collect(self.records)}
        return [runs[record.run].judged(record) for record in self.records if isinstance(record, Entry)]

    def table(self) -> dict[str, ndarray[Any, Any]]:
        """The figures as numpy arrays, one a column, units in the names; docs/results.md lists them."""
        from wirespeed.results.export import to_arrays
        from wirespeed.results.runs import collect, resumed

        return to_arrays(resumed(collect(self.records)))

    def frame(self) -> Any:
        """The same as a pandas DataFrame. Raises WirespeedError where pandas is not installed."""
        from wirespeed.results.export import to_frame
        from wirespeed.results.runs import collect, resumed

        return to_frame(resumed(collect(self.records)))

    def __repr__(self) -> str:
        lists = (self.records, "record"), (self.runs, "run"), (self.warnings, "warning")
        counts = ", ".join(counted(len(found), noun) for found, noun in lists)
        return f"<Results of {shown(self.file)}: {counts}>"

    def add_line(self, line: bytes, number: int) -> None:
        """Takes one line of the file. Raises WirespeedError for one of an older version."""
        if not line.strip():
            return
        try:
            record = decoded(line)
        except (DoesNotFit, RecursionError) as error:
            torn = "cut off" if not line.endswith(b"\n") else "damaged"
            self._left_out(number, str(error) or torn)
            return
        if isinstance(record, Head):
            self._check_schema(record.schema, number)
            record = _without_former_options(record)
        if isinstance(record, Entry) and not record.has_time:
            self._left_out(number, "entry with a time that cannot be")
        elif record is not None:
            self.records.append(record)

    def _check_schema(self, schema: int, line: int) -> None:
        if schema < SCHEMA:
            raise cannot(
                f"{shown(self.file)}: written by an older wirespeed (schema {schema}); this version reads "
                f"schema {SCHEMA}"
            )
        if schema > SCHEMA:
            self.warnings.append(
                f"line {line}: written by a newer wirespeed (schema {schema}, known here: {SCHEMA}); "
                "read as far as it goes"
            )

    def _left_out(self, line: int, why: str) -> None:
        if len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(f"line {line}: {why}, left out")
        else:
            self.unnamed += 1


def _without_former_options(head: Head) -> Head:
    plan = head.plan
    options = tuple(option for option in plan.options if (plan.pattern, *option) not in FORMER)
    if len(options) < len(plan.options):
        # Not by replace(): it adds the members that an older file does not have.
        plan = copy(plan)
        object.__setattr__(plan, "options", options)
    return msgspec.structs.replace(head, plan=plan)


def decoded(line: bytes) -> Record | None:
    """A line's record; None for kinds unknown to this version.

    Raises DoesNotFit with the reason, without one where it is no JSON.
    """
    try:
        inputs.check_depth(line)
    except inputs.BeyondLimits as error:
        raise DoesNotFit(str(error).removeprefix("it is ")) from None
    try:
        text = line.decode()
        if text.rstrip("\r\n").isprintable() and not (_ESCAPED.search(text) or _LONG.search(text)):
            return as_now(_DECODER.decode(text))
    except (UnicodeDecodeError, msgspec.MsgspecError, WirespeedError, RecursionError):
        pass
    try:
        value = inputs.of_json(line)
    except ValueError:
        raise DoesNotFit from None
    return record_of(value)


def record_of(value: Any) -> Record | None:
    """The record in what json.loads gave; None for kinds unknown to this version. Raises DoesNotFit."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str):
        raise DoesNotFit("not a record")
    if kind not in KINDS:
        return None
    try:
        return as_now(fitted(KINDS[kind], value))
    except DoesNotFit as error:
        raise DoesNotFit(f"{kind}: {error}") from None


def is_named_so(file: Path) -> bool:
    """Has it the name of a result file, one packed by gzip perhaps, and is it a regular file?"""
    return file.name.endswith((".jsonl", ".jsonl.gz")) and file.is_file()


def stem(file: str) -> str:
    """A result file's name without folder and ending."""
    return Path(file).name.removesuffix(".gz").removesuffix(".jsonl")


def read(file: str | os.PathLike[str], lines: Iterable[bytes] | None = None) -> Results:
    """The runs, steps, entries and failures of a result file, one packed by gzip perhaps; `.table()` gives
    numpy arrays, `.frame()` a pandas DataFrame. For users: wirespeed.load.

    Damaged lines are left out and named in `.warnings`. `lines`: its content, if it is read already.
    Raises WirespeedError if the file cannot be read, is not a result file, or is of an older schema.
    """
    results = Results(os.fspath(file))
    try:
        ours = _read_lines(inputs.lines(file) if lines is None else lines, results)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(file)}: {why(error)}") from None
    if not ours:
        raise cannot(f"{shown(file)} is not a result file of wirespeed")
    return results


def read_json(kind: type[Kind], file: str | os.PathLike[str]) -> Kind:
    """A JSON file's content as a `kind`. Raises WirespeedError."""
    try:
        # No pipe: of that name it would never end.
        text = inputs.text(file, pipes=False)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {shown(file)}: {why(error)}") from None
    try:
        return fitted(kind, inputs.of_json(text))
    except DoesNotFit as error:
        raise cannot(f"{shown(file)} is damaged: {error}") from None
    except ValueError:
        raise cannot(f"{shown(file)} is damaged: it is no JSON") from None


def _read_lines(lines: Iterable[bytes], results: Results) -> bool:
    """Adds every line; True if this looks like a result file, a damaged one perhaps."""
    number, first = 0, b""
    try:
        for number, line in enumerate(lines, 1):
            first = first or line[: len(START)]
            if len(line) > inputs.LONGEST_LINE and not line.endswith(b"\n"):
                results._left_out(number, f"longer than {format_size(inputs.LONGEST_LINE)}")
            else:
                results.add_line(line, number)
    except inputs.CutOff as error:
        if not results.records:
            raise
        results._left_out(number + 1, f"{error} from here on")
    if results.unnamed:
        results.warnings.append(f"{counted(results.unnamed, 'more line')} left out")
    return bool(results.records) or START.startswith(first)


def cannot(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.CANNOT_WRITE)


def shown(file: str | os.PathLike[str]) -> str:
    """A file's name, on one line whatever is in it."""
    name = os.fspath(file)
    return name if name.isprintable() else repr(name)
