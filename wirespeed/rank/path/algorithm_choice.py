"""The fastest of our algorithms for a collective operation at a size: measured, on all ranks alike."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from wirespeed.rank.context import RankContext, Unusable, Wanted
from wirespeed.rank.faults.words import open_program

SECONDS = 0.02
"""Time for each, after a first iteration."""
MAX_ITERATIONS = 200


def by_algorithm(context: RankContext, name: str) -> RankContext:
    """The context in which a collective operation is done so."""
    shape = replace(context.shape, options={**context.shape.options, "by": name})
    return replace(context, pattern=context.pattern.at(shape))


def fastest(context: RankContext, wanted: Wanted) -> str:
    """Collective. The algorithm of the least time, the slowest rank's. Raises Unusable where none works."""
    from wirespeed.patterns.collectives.operation import as_operation

    seconds: dict[str, float] = {}
    failure: Unusable | None = None
    for name in as_operation(context.pattern).candidates(wanted.size):
        variant = by_algorithm(context, name)
        try:
            with closing(open_program(variant, wanted)) as program:
                first = context.comm.maximum(program.run())
                count = max(1, min(int(SECONDS / max(first, 1e-9)), MAX_ITERATIONS))
                seconds[name] = context.comm.maximum(min(program.sample(count, 2).seconds))
        except Unusable as error:
            failure = error
    if not seconds:
        assert failure
        raise failure
    return min(seconds, key=seconds.__getitem__)
