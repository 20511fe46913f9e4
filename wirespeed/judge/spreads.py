"""What launches of the same thing differ by, as far as measured ones tell: by kind of path and length."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

SHORT, MIDDLE, LONG = "short", "middle", "long"
SHORTEST_LONG, LONGEST_SHORT = 1 << 20, 4 << 10
"""Bytes."""
REACH = 5.0
"""Two launches of the same thing lie within so many standard deviations of a launch, as logarithms."""
LEAST_RANGE = 1.1
"""Nor is a smaller ratio taken for more than what launches differ by, where only STATED tells that."""
LEAST_RANGE_OF_A_SIZE = 1.25


@dataclass(frozen=True)
class Spread:
    """Standard deviations between launches, of logarithms: about shares of the time."""

    group: float
    """Of the median over a group of sizes."""
    figure: float
    """Of one size."""


STATED = {
    "host": {SHORT: Spread(0.15, 0.19), MIDDLE: Spread(0.32, 0.29), LONG: Spread(0.057, 0.075)},
    "copied": {SHORT: Spread(0.056, 0.056), MIDDLE: Spread(0.040, 0.044), LONG: Spread(0.078, 0.10)},
    "driver": {SHORT: Spread(0.058, 0.058), MIDDLE: Spread(0.053, 0.053), LONG: Spread(0.099, 0.13)},
    "woken": {SHORT: Spread(0.065, 0.068), MIDDLE: Spread(0.058, 0.065), LONG: Spread(0.013, 0.026)},
    "device": {SHORT: Spread(0.011, 0.021), MIDDLE: Spread(0.020, 0.024), LONG: Spread(0.003, 0.010)},
}
"""By kind of path (TransferPath.mover), of equal launches one after the other in results/
(bench/claims.py --only stated). host: CPUs move bytes between hosts' buffers; copied: CPUs copy what
is staged; driver: its CPUs copy what lies in pageable or managed memory; woken: a CPU waits for each
message that others move; device: GPUs and copy engines move it."""


def group_of(size: int) -> str:
    """What wakes a CPU slows short messages alone, and caches are too small for long ones."""
    return SHORT if size <= LONGEST_SHORT else MIDDLE if size < SHORTEST_LONG else LONG


def groups(sizes: list[int]) -> list[list[int]]:
    """Indices of the sizes of each group, the shortest first."""
    order = sorted(range(len(sizes)), key=lambda at: sizes[at])
    return [[*those] for _, those in groupby(order, key=lambda at: group_of(sizes[at]))]


def stated(kind: str, size: int) -> Spread:
    """Of a path of this kind."""
    return STATED[kind][group_of(size)]
