"""At which sizes bytes are counted: few where nothing changes, more where the wires do."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise

STRIDE = 64
"""Largest ratio of the next counted size to this one, where verdict and protocol stay the same."""


LONG_S = 0.2
"""Sizes whose iterations take longer are left out where a smaller one moves in the same way."""


def worth_counting(sizes: Sequence[int], protocols: Sequence[str], seconds: Sequence[float]) -> list[int]:
    """Indices of sizes, smallest first. Empty messages cross no wire. `seconds`: of an iteration."""
    order = sorted((index for index, size in enumerate(sizes) if size), key=sizes.__getitem__)
    order = order or list(range(len(sizes)))
    while len(order) > 1 and seconds[order[-1]] > LONG_S and protocols[order[-1]] == protocols[order[-2]]:
        order.pop()
    return order


def sizes_to_count(
    sizes: Sequence[int], protocols: Sequence[str], order: Sequence[int]
) -> Generator[int, str | None, None]:
    """Yields indices of `sizes`, and is sent the verdict there; None: there is none.

    Counted are of those worth it, in that `order`, the ends, the largest size of each protocol, one in
    STRIDE, and between two whose verdicts differ as many as it takes to know where they change.
    """
    verdicts: dict[int, str | None] = {}
    for place in _grid([sizes[index] for index in order], [protocols[index] for index in order]):
        verdicts[place] = yield order[place]
    while (middle := _between_two_verdicts(verdicts)) is not None:
        verdicts[middle] = yield order[middle]


def _grid(sizes: Sequence[int], protocols: Sequence[str]) -> list[int]:
    """Places in sizes, smallest first, that are counted in any case."""
    kept: list[int] = []
    for place in reversed(range(len(sizes))):
        far = not kept or sizes[kept[-1]] >= STRIDE * sizes[place]
        if far or place == 0 or protocols[place] != protocols[place + 1]:
            kept.append(place)
    return kept[::-1]


def _between_two_verdicts(verdicts: dict[int, str | None]) -> int | None:
    known = [place for place in sorted(verdicts) if verdicts[place] is not None]
    for low, high in pairwise(known):
        middles = [place for place in range(low + 1, high) if place not in verdicts]
        if middles and verdicts[low] != verdicts[high]:
            return middles[len(middles) // 2]
    return None
