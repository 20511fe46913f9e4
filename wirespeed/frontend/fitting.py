"""Usual sizes of a pattern that have room in memory: the others are left out, and that is said."""

from __future__ import annotations

from dataclasses import replace

from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, find_pattern
from wirespeed.units import format_size


def with_room(plan: Plan, room: int | None) -> tuple[Plan, str | None]:
    """The plan without sizes that do not fit, but for the first one, and what was left out.

    `room`: bytes for each of a rank's two buffers; None: nobody knows.
    """
    pattern, shape = find_pattern(plan.pattern), Shape(plan.ranks, dict(plan.options), memory=room)
    if room is None or pattern.size_rule(shape).fixed is not None:
        return plan, None

    def fits(size: int) -> bool:
        return max(pattern.extent(rank, shape, size) for rank in range(plan.ranks)) <= room

    sizes = tuple(filter(fits, plan.sizes)) or plan.sizes[:1]
    if sizes == plan.sizes:
        return plan, None
    text = (
        f"only sizes up to {format_size(sizes[-1])}: larger ones need more memory than is free for "
        f"{plan.ranks} ranks; --sizes measures those that it names"
    )
    return replace(plan, sizes=sizes), text
