"""Usual sizes of a pattern that have room in memory: the others are left out, and that is said."""

from __future__ import annotations

from dataclasses import replace

from wirespeed.job.plan import DEFAULT_SIZES, Plan
from wirespeed.patterns import Shape, find_pattern
from wirespeed.units import format_size, parse_sizes


def fitting(plan: Plan, room: int | None) -> tuple[int, ...]:
    """The plan's sizes; of those that the pattern has by default the ones that fit, at least the first.

    `room`: bytes for each of a rank's two buffers; None: nobody knows.
    """
    pattern, options = find_pattern(plan.pattern), dict(plan.options)
    if room is None or plan.sizes_named:
        return plan.sizes
    shape = Shape(plan.ranks, options, memory=room)
    usual = parse_sizes(pattern.default_sizes(options) or pattern.sizes or DEFAULT_SIZES)
    usual = tuple(dict.fromkeys(max(size, pattern.least_size(shape)) for size in usual))
    if plan.sizes != usual or pattern.fixed_sizes(shape) is not None:
        return plan.sizes

    def fits(size: int) -> bool:
        return max(pattern.extent(rank, shape, size) for rank in range(plan.ranks)) <= room

    return tuple(filter(fits, plan.sizes)) or plan.sizes[:1]


def with_room(plan: Plan, room: int | None) -> tuple[Plan, str | None]:
    """The plan with such sizes alone, and what was left out."""
    sizes = fitting(plan, room)
    if sizes == plan.sizes:
        return plan, None
    text = (
        f"sizes up to {format_size(sizes[-1])} only: for {plan.ranks} ranks, larger ones need more memory "
        "than is free; --sizes measures what it names"
    )
    return replace(plan, sizes=sizes), text
