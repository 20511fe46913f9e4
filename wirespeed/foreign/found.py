"""A log in the making, and the interface of a reader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from wirespeed.foreign.shapes import Curve, FailingLine, LeftOut, Log, Point, Transport

MOST = 10_000
"""Failures, unknown lines, commands and settings that are kept."""
MOST_VALUES = 4
"""Different values of a setting that are kept."""
MOST_MODELS = 1000
MOST_TRANSPORTS = 200_000
MOST_ROWS = 100_000
"""Rows from which on no further table is kept; one that is open then gets as many once more."""


@dataclass
class Found:
    """A Log in the making."""

    curves: list[Curve] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """All values of each setting, in their order."""
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    transports: dict[tuple[str, ...], Transport] = field(default_factory=dict)
    topology: dict[str, Any] = field(default_factory=dict)
    failures: list[FailingLine] = field(default_factory=list)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    commands: list[tuple[int, str]] = field(default_factory=list)
    command: str = ""
    """The last command line; ranks print what it starts."""
    rows: int = 0
    """Rows that are kept; each pair of a matrix is one."""
    kept_tables: int = 0
    """Open tables whose rows are kept."""
    left_rows: int = 0
    """Rows that are left out, each line of a matrix as one."""
    left_from: int = 0
    """The first of them."""
    full: bool = False
    """Are no further rows kept?"""
    events: int = 0
    """Tables that were opened, and lines of figures that were taken."""

    def setting(self, name: str, value: str) -> None:
        if len(self.settings) < MOST:
            self.settings[name] = value
            known = self.values.setdefault(name, ())
            if value not in known and len(known) < MOST_VALUES:
                self.values[name] = (*known, value)

    def version(self, library: str, version: str) -> None:
        known = self.versions.setdefault(library, ())
        if version not in known and len(known) < MOST:
            self.versions[library] = (*known, version)

    def model(self, name: str) -> None:
        """Of a GPU that the text names."""
        known = self.topology.get("models", ())
        if name not in known and len(known) < MOST_MODELS:
            self.topology["models"] = (*known, name)

    def transport(self, made: Transport) -> None:
        key = (made.library, made.kind, made.detail, made.sender, made.receiver, made.host)
        if len(self.transports) < MOST_TRANSPORTS:
            self.transports.setdefault(key, made)

    def failure(self, kind: str, text: str, line: int) -> None:
        if len(self.failures) < MOST:
            self.failures.append(FailingLine(kind, " ".join(text.split()), line))

    def table(self) -> bool:
        """A table begins; are its rows to be kept?"""
        self.events += 1
        kept = self.rows < MOST_ROWS
        self.kept_tables += kept
        return kept

    def table_ends(self) -> None:
        """One whose rows were kept."""
        self.kept_tables -= 1
        self.full = self.rows >= MOST_ROWS and not self.kept_tables

    def has_room(self, rows: int, line: int, *, kept: bool) -> bool:
        """Are the rows of this line kept, of a table that is `kept`? If not, they are counted."""
        self.events += 1
        if self.rows < MOST_ROWS or (kept and self.rows < 2 * MOST_ROWS):
            self.rows += rows
            return True
        self.full = self.rows >= 2 * MOST_ROWS or not self.kept_tables
        self.leave_out(line)
        return False

    def leave_out(self, line: int) -> None:
        self.left_from = self.left_from or line
        self.left_rows += 1

    def log(self) -> Log:
        return Log(
            tuple(sorted(self.curves, key=lambda curve: curve.points[0].line)),
            self.settings,
            self.versions,
            tuple(self.transports.values()),
            self.topology,
            tuple(self.failures),
            tuple(self.unknown),
            tuple(self.commands),
            self.values,
            LeftOut(self.left_rows, self.left_from) if self.left_rows else None,
        )


class LogStream:
    """Lines of one rank, or of one host: a table's rows do not mix with another's."""

    def __init__(self, found: Found, kinds: tuple[type[Reader], ...]) -> None:
        self.found = found
        self.open: list[Reader] = []
        """Readers whose table goes on."""
        self.readers = [kind(self) for kind in kinds]
        for place, reader in enumerate(self.readers):
            reader.place = place
        self.hits: Set[str] = frozenset()
        """Words of readers in the line that is read."""
        self.host = ""
        """'node01: ' before each line of a host."""
        self.caption = ""
        """The last line that no reader knows: often a table's title."""
        self.own_command = ""
        """The last command line among these lines."""

    @property
    def command(self) -> str:
        """The last command line, that of another stream where this one has none."""
        return self.own_command or self.found.command

    def opened(self, reader: Reader) -> None:
        """A table begins: the one before ends."""
        for other in self.readers:
            if other is not reader:
                other.close()

    def close(self) -> None:
        for reader in self.readers:
            reader.close()


class Reader(ABC):
    """Reads one tool's lines."""

    words: ClassVar[tuple[str, ...]]
    """One of them stands in each line that begins something of this tool: runs of letters, with the '_' that
    may follow ('UCX_' of UCX_TLS); '$' before a command."""
    place: int = 0
    """Its place among all readers."""

    def __init__(self, stream: LogStream) -> None:
        self.stream, self.found = stream, stream.found
        self.curve: Curve | None = None
        """Of the open table, without its points."""
        self.points: list[Point] = []
        self.kept = False
        """Are its rows kept?"""
        self.doubtful: tuple[Point, int, str] | None = None
        """A row that may be cut off, if it is the last one: its decimals, and its text."""
        self.decimals: set[int] = set()
        """Decimals of rows that might have been cut off, and were not."""

    @abstractmethod
    def take(self, text: str, line: int) -> bool:
        """Is this line understood? Called for lines with one of the words, and while a table is open."""

    def take_json(self, value: Any, line: int) -> bool:
        """The same of a JSON value that begins in this line."""
        return False

    def open(self, curve: Curve) -> None:
        """Begins a table."""
        self.close()
        self.stream.opened(self)
        self.curve, self.stream.caption = curve, ""
        self.stream.open.append(self)
        self.kept = self.found.table()

    def add(self, line: int, *rows: Point) -> bool:
        """Rows of the open table that stand in this line; is there any?"""
        if self.doubtful and rows:
            (before, decimals, _), self.doubtful = self.doubtful, None
            self.decimals.add(decimals)
            self.add(before.line, before)
        if rows and self.found.has_room(len(rows), line, kept=self.kept):
            self.points += rows
        return bool(rows)

    def add_rounded(self, point: Point, token: str, text: str) -> bool:
        """A row whose last figure lacks decimals: another row has to follow, or one before to have as few."""
        decimals = len(token.replace(",", ".").partition(".")[2])
        if self.doubtful or decimals in self.decimals:
            self.add(point.line, point)
        else:
            self.doubtful = point, decimals, text
        return True

    def close(self) -> None:
        """Ends the open table, without a last row that was cut off."""
        if self.doubtful and len(self.found.unknown) < MOST:
            self.found.unknown.append((self.doubtful[0].line, self.doubtful[2]))
        self.doubtful, self.decimals = None, set()
        if self.curve is not None and self.points:
            self.found.curves.append(replace(self.curve, points=tuple(self.points)))
        if self.curve is not None:
            self.stream.open.remove(self)
        if self.kept:
            self.found.table_ends()
        self.curve, self.points, self.kept = None, [], False
