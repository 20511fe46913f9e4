"""Time of one path within the bound of its run (--within): what still fits, and in which order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Size = TypeVar("Size")

PASSES = 12
"""Iterations of a size beside its samples: trial, warm-up, checks with new content; 5.8 round trips of 1 GiB
in results/default."""
CPU_BYTES_PER_S, GPU_BYTES_PER_S = 2e9, 20e9
"""Rate of an iteration, until a size has shown it."""
LEAST_S = 0.03
"""Seconds of a size however short its messages."""
TIGHT_S = 10.0
"""Seconds in which the usual sizes all come to their turn, even on a busy machine."""
KNOWN_FROM = 64 << 10
"""Bytes of the buffers of sizes that show how long larger ones take."""
BESIDE_S, BESIDE, SHORT_S = 1.6, 0.25, 2.0
"""Seconds of a path after its figures, for counted iterations, and the share of its time that they have at
most; 1.2 to 3.2 s with its start on two H100s. Paths with less time than SHORT_S have figures alone."""


@dataclass
class PathTime:
    """Rank 0's clock decides; other ranks ask it."""

    end: float
    """When the path is to be over (time.monotonic())."""
    cpu: bool = True
    """Do CPUs move its bytes?"""
    _byte_s: float = 0.0
    """Seconds of an iteration for each byte of a buffer, of the longest one so far."""
    _largest: int = 0

    def __post_init__(self) -> None:
        self._byte_s = 1 / (CPU_BYTES_PER_S if self.cpu else GPU_BYTES_PER_S)
        left = self.left
        self._all_end = self.end - (min(BESIDE_S, BESIDE * left) if left > SHORT_S else 0.0)
        self.figures_end = self._all_end

    def begin(self, *, last: bool) -> None:
        """Sizes begin that take turns. They have half of what is left, unless they are the last ones: so
        that short messages leave time for longer ones, which tell the bandwidth."""
        now = time.monotonic()
        self.figures_end = self._all_end if last else now + (self._all_end - now) / 2

    @property
    def tight(self) -> bool:
        """May not all sizes come to their turn?"""
        return self.figures_end - time.monotonic() < TIGHT_S

    @property
    def left(self) -> float:
        """Seconds until the path is to be over."""
        return self.end - time.monotonic()

    @property
    def over(self) -> bool:
        """Is the time for these figures over?"""
        return time.monotonic() >= self.figures_end

    def took(self, need: int, seconds: float) -> None:
        """A size with so many bytes of buffers has an iteration of so many seconds."""
        if need >= max(KNOWN_FROM, self._largest) and seconds:
            self._largest, self._byte_s = need, seconds / need

    def cost(self, need: int) -> float:
        """Seconds that a size takes, at least."""
        return LEAST_S + PASSES * need * self._byte_s

    def has_room_for(self, need: int) -> bool:
        """Could a size that needs so many bytes come to its turn at all?"""
        return time.monotonic() + self.cost(need) <= self._all_end

    def fitting(self, needs: Sequence[int]) -> int:
        """How many of these sizes, in ascending order, there is time for."""
        left, count = self.figures_end - time.monotonic(), 0
        for need in needs:
            left -= self.cost(need)
            if left < 0:
                break
            count += 1
        return count


def telling(sizes: Sequence[Size]) -> list[Size]:
    """What tells most first: the ends, the middle, then the middles between those."""
    order = [*sizes[:1], *sizes[-1:]] if len(sizes) > 1 else [*sizes]
    spans = [(0, len(sizes) - 1)]
    while spans:
        low, high = spans.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(sizes[middle])
            spans += [(low, middle), (middle, high)]
    return order
