"""Values that readers of other tools' outputs return, and what is found in them.

Sizes are bytes, times seconds, rates bytes per second. None: the text does not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Point(NamedTuple):
    """Figures of one line of a table."""

    bytes: int
    """Size of a message; -1: the text does not say."""
    seconds: float | None = None
    rate: float | None = None
    """As printed: the curve's name and direction define what it counts."""
    peak: float | None = None
    """Highest rate of those that `average` is the average of."""
    average: float | None = None
    """Rate since the line before."""
    overall: float | None = None
    """Rate since the beginning."""
    t_min: float | None = None
    t_max: float | None = None
    """Shortest and longest time of a rank."""
    repetitions: int | None = None
    wrong: float | None = None
    """Wrong elements, or the largest error; 0: checked and right."""
    in_place: bool | None = None
    line: int = 0
    """Number of the line in the text, from 1."""


@dataclass(frozen=True)
class Curve:
    """One table of a tool: one operation between the same ranks in the same memory."""

    tool: str
    version: str = ""
    operation: str = ""
    """wirespeed's word: pingpong, bandwidth, both-ways, allreduce, ..."""
    name: str = ""
    """The tool's word."""
    direction: str = "one"
    """Bytes that the rate counts: of 'one' direction, the sum of 'both', 'algorithm' or 'bus' bandwidth, or
    'unknown'."""
    memory: str = ""
    """'H H', 'H D', 'D D': of the sender and the receiver; '': not said."""
    ranks: int | None = None
    hosts: int | None = None
    points: tuple[Point, ...] = ()
    unit_words: str = ""
    """Unit of the printed rate: 'MB = 1e6 B'."""
    pair: str = ""
    """GPUs or NIC: 'GPU0 GPU3', 'mlx5_0'."""
    placement: str = ""


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

    def __bool__(self) -> bool:
        """Was anything understood?"""
        return bool(
            self.curves or self.settings or self.versions or self.transports or self.topology or self.failures
        )


@dataclass(frozen=True)
class Finding:
    """Something that the user should know about his figures."""

    kind: str
    """Identifier: 'cliff', 'hump', 'two-speeds', ..."""
    severity: int
    """3: the figures are no figures; 2: something is wrong; 1: something to know."""
    seen: str
    cause: str = ""
    do: str = ""
    curve: Curve | None = None
    wrong: bool = False
    """The data are wrong: these figures are none."""
    impossible: bool = False
