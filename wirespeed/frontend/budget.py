"""A budget that a run cannot keep, said before it begins.

A budget ends what is measured on for precision. Each size takes some iterations all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.frontend.starter import PathLaunch
from wirespeed.job.plan import Plan

START_S, PATH_S = 3.0, 2.0
"""Seconds of the command beside its paths; of a path beside its sizes: its start, and counted iterations."""
PASSES, BYTES_PER_S = 12, 4e9
"""Passes of a message from rank to rank, for trial, warm-up, samples and checks (5.8 round trips of 1 GiB
in results/default); bytes per second of one that CPUs move: an estimate, below the 7e9 there."""
TOLERANCE = 1.1


def least_seconds(plan: Plan, launches: Sequence[PathLaunch]) -> float:
    """About the time that these take together, however small the budget."""
    seconds = START_S
    for launch in launches:
        seconds += PATH_S + plan.stopping.max_time * len(launch.sizes)
        if launch.path.cpu_moves:
            seconds += PASSES * sum(launch.sizes) / BYTES_PER_S
    return seconds


def too_small(plan: Plan, launches: Sequence[PathLaunch]) -> str | None:
    """Words about a budget that the launches cannot keep; None: they can, or there is none."""
    if not plan.budget or plan.soak or (least := least_seconds(plan, launches)) <= TOLERANCE * plan.budget:
        return None
    return (
        f"a budget of {plan.budget:g} s: this takes about {round(least)} s, however coarse the figures; "
        f"fewer --sizes{', --launches' if plan.launches > 1 else ''} or --paths take less"
    )
