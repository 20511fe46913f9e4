"""A log in the making, and the interface of a reader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from wirespeed.foreign.shapes import Curve, FailingLine, Log, Point, Transport

MOST = 10_000
"""Failures, unknown lines, commands and settings that are kept."""
MOST_VALUES = 4
"""Different values of a setting that are kept."""
MOST_TRANSPORTS = 200_000
MOST_CURVES = 100_000
"""Tables that are kept; each pair of a matrix is one."""


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

    def transport(self, made: Transport) -> None:
        key = (made.library, made.kind, made.detail, made.sender, made.receiver, made.host)
        if len(self.transports) < MOST_TRANSPORTS:
            self.transports.setdefault(key, made)

    def failure(self, kind: str, text: str, line: int) -> None:
        if len(self.failures) < MOST:
            self.failures.append(FailingLine(kind, " ".join(text.split()), line))

    def curve(self, made: Curve) -> None:
        if not self.is_full(made.points[0].line):
            self.curves.append(made)

    def is_full(self, line: int) -> bool:
        """Is a table in this line one too many? Then it is named."""
        full = len(self.curves) >= MOST_CURVES
        if full and len(self.unknown) < MOST:
            self.unknown.append((line, f"more than {MOST_CURVES} tables: this one is left out"))
        return full

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

    def close(self) -> None:
        """Ends the open table."""
        if self.curve is not None and self.points:
            self.found.curve(replace(self.curve, points=tuple(self.points)))
        if self.curve is not None:
            self.stream.open.remove(self)
        self.curve, self.points = None, []
