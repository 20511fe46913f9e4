"""A curve's rows as times by size, one series for each way of measuring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.judge.given import Curve, Point
from wirespeed.units import format_rate, format_seconds, format_size

COLLECTIVE = ("all-", "allreduce", "allgather", "alltoall", "reduce", "broadcast", "gather", "scatter")
"""Beginnings of the names of operations of all ranks."""


STAGED = "NCCL_P2P_DISABLE=1"
"""Placement of a table of NCCL whose command forbids direct copies."""
SEPARATE = "separate jobs"
"""In the placement of a table that several jobs printed which know nothing of each other."""


class Row(NamedTuple):
    """Time of one message, and its rate."""

    bytes: int
    seconds: float
    rate: float
    point: Point


@dataclass(frozen=True)
class Series:
    """Rows with ascending, different sizes."""

    curve: Curve
    rows: tuple[Row, ...]
    in_place: bool | None = None

    @property
    def where(self) -> str:
        """' in place'; '' where there is nothing to tell apart."""
        return "" if self.in_place is None else " in place" if self.in_place else " out of place"

    def rate_words(self, row: Row) -> str:
        """'29.5 GB/s bus bandwidth'."""
        kind = {"bus": " bus bandwidth", "both": " both ways"}.get(self.curve.direction, "")
        return f"{format_rate(row.rate)} GB/s{kind}"


def usable(value: float | None) -> bool:
    """Is it a number above 0?"""
    return value is not None and math.isfinite(value) and value > 0


def series_of(curve: Curve) -> list[Series]:
    """Without rows that have no size, no time, or wrong data. Of a size that stands twice, the first."""
    found: dict[bool | None, dict[int, Row]] = {}
    for point in curve.points:
        rows = found.setdefault(point.in_place, {})
        if point.bytes > 0 and point.bytes not in rows and not is_wrong(point) and (row := _row(point)):
            rows[point.bytes] = row
    return [
        Series(curve, tuple(rows[size] for size in sorted(rows)), in_place)
        for in_place, rows in found.items()
        if rows
    ]


def _row(point: Point) -> Row | None:
    size, seconds, rate = point.bytes, point.seconds, point.rate
    if rate is None or not 0 < rate < math.inf:
        rate = size / seconds if seconds is not None and 0 < seconds < math.inf else 0.0
    if seconds is None or not 0 < seconds < math.inf:
        seconds = size / rate if rate else 0.0
    return Row(size, seconds, rate, point) if 0 < rate < math.inf and 0 < seconds < math.inf else None


MOST_ERROR = 0.1
"""Largest rounding error of a sum that a test prints of sound data, in half precision."""


def is_wrong(point: Point) -> bool:
    """Did a check of its data fail?"""
    return point.wrong is not None and not point.wrong <= MOST_ERROR


def is_collective(curve: Curve) -> bool:
    return curve.operation.startswith(COLLECTIVE)


def on_gpu(curve: Curve) -> bool:
    """Does a GPU's memory take part?"""
    tool = curve.tool.lower()
    # OSU's title names CUDA or ROCm where it was told to use GPUs.
    if not curve.memory and tool.startswith("osu mpi-"):
        return True
    return "D" in curve.memory.split() or any(word in tool for word in ("nccl", "rccl", "nvbandwidth", "p2p"))


def between_hosts(curve: Curve) -> bool:
    """Is it known that a network carries it?"""
    return (curve.hosts or 1) > 1 or curve.tool.lower().startswith(("perftest", "ib_"))


def sizes_words(rows: tuple[Row, ...]) -> str:
    """'64 B to 1 KiB'."""
    first, last = format_size(rows[0].bytes), format_size(rows[-1].bytes)
    return first if first == last else f"{first} to {last}"


def times(ratio: float) -> str:
    """'11.2'."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def time_words(row: Row) -> str:
    """'64 MiB takes 24.4 ms'."""
    return f"{format_size(row.bytes)} takes {seconds_words(row.seconds)}"


def seconds_words(seconds: float) -> str:
    """As units.py has it; of less than ten nanoseconds in two figures."""
    return format_seconds(seconds) if seconds >= 10e-9 else f"{seconds * 1e9:.2g} ns"
