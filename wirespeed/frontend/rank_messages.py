"""Messages of ranks as the front end takes them: of the types that it counts on, and fit for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, to_builtins

from wirespeed.job.messages import Joined, Message, parse
from wirespeed.results.lenient import DoesNotFit, cleaned, fitted, printable
from wirespeed.results.model import KINDS
from wirespeed.results.parts import Amount, CountedWire, DerivedFigure, Fact, Rank, Times, Whole, Wire


class _Hello(Struct):
    ranks: list[Rank]
    mpi: dict[str, Any] = {}
    startup_s: Amount = 0.0


class _Accepted(Struct):
    details: dict[str, Any]
    pointers: list[dict[str, Any]]
    nics: list[list[dict[str, Any]]]


class _Entry(Struct):
    pattern: str
    path: str
    bytes: Whole
    seconds: Times
    bandwidth_bytes: Whole
    derived: list[DerivedFigure]
    samples: Whole
    iterations_per_sample: Whole
    cores: dict[str, Any]


class _Wires(Struct):
    wires: list[Wire]


class _Evidence(Struct):
    wires: list[CountedWire]
    between_hosts: list[Whole]


class _Failure(Struct):
    what: str
    text: str
    rank: Whole | None
    bytes: Whole | None
    fatal: bool


class _RangeClock(Struct):
    same: bool
    ahead: int | float
    uncertainty: int | float


class _Ranges(Struct):
    path: str
    rank: Whole
    host: str
    rows: list[tuple[str, Any, int | float, int | float, dict[str, Any]]]
    clock: _RangeClock
    shared: str
    now: int
    dropped: Whole


class _Progress(Struct):
    path: str
    bytes: Whole
    index: Whole
    of: Whole
    samples: Whole = 0
    precision: Amount | None = None
    phase: Whole = 0
    phases: Whole = 1
    doing: str = ""
    needs: list[Whole] = []


class _Note(Struct):
    text: str


class _Picture(Struct):
    what: str
    steps: Whole
    grid: tuple[Fact, Fact]
    cell: Fact
    of: Fact
    row: Whole
    cells: str


class _Turn(Struct):
    index: Whole


class _Stuck(Struct):
    rank: Whole
    pid: Whole
    host: str
    path: str
    bytes: Whole
    iteration: Whole
    call: str | None
    peer: int
    state: str
    fault: str
    native: list[str]
    python: list[str]


class _Error(Struct):
    rank: Whole
    text: str
    code: Whole = 1
    lack: bool = False
    python: list[str] = []
    lost: list[Whole] = []


class _Empty(Struct):
    pass


_PARTS: Mapping[str, type[Struct]] = MappingProxyType(
    {
        "hello": _Hello,
        "accepted": _Accepted,
        "entry": _Entry,
        "wires": _Wires,
        "evidence": _Evidence,
        "failure": _Failure,
        "ranges": _Ranges,
        "progress": _Progress,
        "note": _Note,
        "turn": _Turn,
        "picture": _Picture,
        "stuck": _Stuck,
        "crash": _Stuck,
        "error": _Error,
        "measured": _Empty,
        "done": _Empty,
        "health": _Empty,
        "soak": _Empty,
    }
)
_RECORDS = ("wires", "evidence", "health", "soak")
"""Kinds that become a record as they are."""


class MessageReader:
    """Takes lines of ranks; of the damaged messages among them the first is told."""

    def __init__(self) -> None:
        self._told = False
        self._joined = Joined()

    def read(self, line: str) -> tuple[str, Message | None]:
        """Text that a library printed before the mark, and the message behind it."""
        whole = self._joined.whole(line)
        if whole is None:
            return "", None
        printed, raw = parse(whole)
        if raw is None:
            return printed, None
        kind = raw.get("kind")
        try:
            if not isinstance(kind, str) or kind not in _PARTS:
                raise DoesNotFit("kind")
            if kind in _RECORDS:
                fitted(KINDS[kind], {**raw, "run": "", "step": 0})
            return printed, {**cleaned(raw), **to_builtins(fitted(_PARTS[kind], raw))}
        except (DoesNotFit, RecursionError) as why:
            if self._told:
                return printed, None
            self._told = True
            which = f"{printable(str(kind))[:40]}: {why}" if str(why) else printable(str(kind))[:40]
            return printed, {"kind": "note", "text": f"a damaged message of the ranks is left out ({which})"}
