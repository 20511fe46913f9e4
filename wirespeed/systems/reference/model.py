"""Published figures, typed: a file for each kind of machine or network, or for a machine by its name.

Where a file has what no type refuses, a table's `__post_init__` raises ValueError (systems/reading.py).
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, field

from wirespeed.systems.model import TomlTable

OPERATIONS = {
    "device-device": "GPU to GPU",
    "host-device": "pinned host memory to GPU",
    "device-host": "GPU to pinned host memory",
    "local-copy": "copy inside a GPU",
    "allreduce-node": "all-reduce of one node's GPUs, bus bandwidth",
    "pingpong": "ping-pong in host memory",
    "network-bandwidth": "bandwidth between two hosts",
    "network-latency": "time between two hosts",
    "groups": "groups of ranks",
}
"""Operation -> its name in print."""
PLATEAUS = {
    "device-device": 128 << 20,
    "host-device": 16 << 20,
    "device-host": 16 << 20,
    "local-copy": 128 << 20,
    "network-bandwidth": 64 << 10,
    "pingpong": 64 << 20,
}
"""Operation -> bytes from which larger messages are about as fast. Of a copy over PCIe, 16 MiB reach 98 % of
what 1 GiB does (v100.toml); inside an H200, 64 MiB reach 79 % of what 256 MiB do (results/copies)."""
NEAR = 2**0.5
"""Below a plateau, a figure stands for sizes that differ by no more than this factor."""

Address = Annotated[str, Meta(pattern=r"^(https?://|results/)\S+$")]
"""Address of a figure; `results/`: a file of this project."""
Date = Annotated[str, Meta(pattern=r"^\d{4}-\d\d(-\d\d)?( \(read\))?$")]
"""Date that the source gives; ` (read)`: it gives none, and was read then."""


class PublishedFigure(TomlTable, frozen=True):
    """A published figure, or the range of several that one source has."""

    operation: str
    bytes: int
    """Size of a message; 0: not said, or the best of all sizes."""
    gb_per_s: tuple[float, float] | None = None
    """Lowest and highest, one direction, 1e9 bytes per second; of a local copy each byte counts once."""
    microseconds: tuple[float, float] | None = None
    """Instead: shortest and longest time of a message, one way."""
    published: str = ""
    """The figure as it stands at the source; '': so."""
    wire: str = ""
    links: int = 0
    """Links between the two GPUs; 0: not said, or all alike."""
    ranks: int = 0
    path: str = ""
    group: int = 0
    """Machines: the path, and the ranks in a group."""

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise ValueError(f"operation: allowed are {', '.join(OPERATIONS)}")
        if (self.gb_per_s is None) == (self.microseconds is None):
            raise ValueError("one of gb_per_s and microseconds")
        low, high = self.gb_per_s or self.microseconds or (0.0, 0.0)
        if not 0 < low <= high:
            raise ValueError("a range is two numbers above 0, the lower one first")
        if self.microseconds and not self.bytes:
            raise ValueError("microseconds need bytes")

    @property
    def rates(self) -> tuple[float, float]:
        """Lowest and highest, bytes per second."""
        if self.gb_per_s:
            return self.gb_per_s[0] * 1e9, self.gb_per_s[1] * 1e9
        short, long = self.microseconds or (1.0, 1.0)
        return self.bytes * 1e6 / long, self.bytes * 1e6 / short

    def stands_for(self, size: int) -> bool:
        """Are messages of this size about as fast?"""
        plateau = PLATEAUS.get(self.operation)
        if plateau and size >= plateau and not (0 < self.bytes < plateau):
            return True
        return self.bytes > 0 and self.bytes / NEAR <= size <= self.bytes * NEAR


class Publication(TomlTable, frozen=True):
    """A source, and the figures taken from it."""

    address: Address
    date: Date
    counted: str
    """Tool, bytes, direction, unit, GPUs."""
    figures: tuple[PublishedFigure, ...]
    limit: float = 0.0
    """Machines: GB/s of one direction that the source says is possible, where systems/ has no limit."""
    chart: bool = False
    """The figures are bars of a chart, read off by its pixels."""
    runs: tuple[str, ...] = ()
    """This project's own measurement: ids of the runs, which the figures must not judge."""

    def __post_init__(self) -> None:
        if self.address.startswith("results/") != bool(self.runs):
            raise ValueError("runs: the ids of the runs in a file of results/, and of nothing else")


class UnusedFigure(TomlTable, frozen=True):
    """A published figure that is not used, and why."""

    figure: str
    source: Address
    why: str


class Curves(TomlTable, frozen=True):
    """Measurements that were published as a curve for each path."""

    file: str
    setting: str
    definition: str
    units: str
    source: str
    date: Date
    paths: dict[str, str] = field(default_factory=dict)
    """The paths' names in the file, where they are not ours -> our names."""


class Kind(TomlTable, frozen=True):
    """A kind of machine or network, or a machine, and what was published about it."""

    name: str
    machines: tuple[str, ...] = ()
    """Regular expressions: what a driver or a user calls it."""
    wires: tuple[str, ...] = ()
    """The same of a network."""
    system: str = ""
    """Instead: the machine's name in systems/."""
    sources: tuple[Publication, ...] = ()
    left_out: tuple[UnusedFigure, ...] = ()
    curves: Curves | None = None

    def __post_init__(self) -> None:
        if sum(map(bool, (self.machines, self.wires, self.system))) != 1:
            raise ValueError("one of machines, wires and system")
        for pattern in (*self.machines, *self.wires):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None

    def is_called(self, name: str) -> bool:
        """Is this what a driver, or a user, calls it?"""
        patterns = self.machines or self.wires
        return any(re.fullmatch(pattern, name.strip(), re.IGNORECASE) for pattern in patterns)
