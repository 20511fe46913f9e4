"""Values that readers of other tools' outputs return, and what is found in them.

Sizes are bytes, times seconds, rates bytes per second. None: the text does not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wirespeed.judge.given import Curve as Curve
from wirespeed.judge.given import Finding as Finding
from wirespeed.judge.given import Point as Point
from wirespeed.units import counted


@dataclass(frozen=True)
class FailingLine:
    """A line that tells of a failure."""

    kind: str
    """Identifier: 'cuda-ipc', 'shm-space', 'nccl-warn', ..."""
    text: str
    line: int


@dataclass(frozen=True)
class Transport:
    """One connection between two ranks, by a library's log."""

    library: str
    """'NCCL', 'UCX', 'libfabric'."""
    kind: str
    """'P2P', 'SHM', 'NET', or the transport's own name."""
    detail: str
    """Words behind the kind: 'IBext_v8/7/GDRDMA', 'CUMEM', 'direct pointer'."""
    sender: str = ""
    receiver: str = ""
    host: str = ""
    line: int = 0


@dataclass(frozen=True)
class LeftOut:
    """Rows of figures that are not kept, as there are too many."""

    rows: int
    """Each line of a matrix is one."""
    since: int
    """Line of the first one."""

    def words(self, log: Log) -> str:
        return (
            f"from {log.place(self.since)} on, {counted(self.rows, 'row')} of figures left out: too many "
            "to read at once; cut the text into parts"
        )


@dataclass(frozen=True)
class Log:
    """All that a text says."""

    curves: tuple[Curve, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    """Variables that the text sets or reports."""
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Library -> versions, in the order of the text."""
    transports: tuple[Transport, ...] = ()
    topology: dict[str, Any] = field(default_factory=dict)
    """'gpus', 'nics': names; 'links': {(a, b): 'NV4'}; 'legend'; 'nvlink': {gpu: (rates)}; 'ports': [...]."""
    failures: tuple[FailingLine, ...] = ()
    unknown: tuple[tuple[int, str], ...] = ()
    """(line, text) of lines that look like figures, and that no reader knows."""
    commands: tuple[tuple[int, str], ...] = ()
    """(line, text) of command lines."""
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """All values of a setting that the text sets several times; `settings` has the last one."""
    left_out: LeftOut | None = None
    files: tuple[tuple[int, str], ...] = ()
    """(number of its first line, name) of each file, if there are several."""

    def place(self, line: int) -> str:
        """'line 12', of several files 'line 3 of b.txt'."""
        begun = [(first, name) for first, name in self.files if first <= line]
        return f"line {line - begun[-1][0] + 1} of {begun[-1][1]}" if begun else f"line {line}"

    def __bool__(self) -> bool:
        """Was anything understood?"""
        return bool(
            self.curves or self.settings or self.versions or self.transports or self.topology or self.failures
        )
