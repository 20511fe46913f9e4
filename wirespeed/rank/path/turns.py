"""Which sizes take turns, a batch of each: noise has time to change between two batches of one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from wirespeed.rank.context import RankContext
from wirespeed.rank.path.buffers import SMALL

AT_ONCE = 24
"""Sizes that take turns, at most: so many batches of 1 ms fill the time between two of the same size."""


def taking_turns(context: RankContext, needs: Sequence[int]) -> Iterator[list[int]]:
    """Indices of the sizes, those together that take turns; `needs`: bytes of each size's buffers.

    They share buffers. A fixed number of iterations is measured at once.
    """
    one_by_one = context.plan.stopping.loops is not None or not context.pattern.takes_turns(context.shape)

    def room(index: int) -> int:
        return next((step for step in SMALL if needs[index] <= step), 0)

    for step, found in groupby(range(len(needs)), room):
        indices = list(found)
        at_once = AT_ONCE if step and not one_by_one else 1
        # As even as can be: nobody is left to be measured alone, and for longer.
        groups = -(-len(indices) // at_once)
        for group in range(groups):
            yield indices[group * len(indices) // groups : (group + 1) * len(indices) // groups]
