"""What a program's time is compared with, in the same job step: its computation alone, and copies."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

from wirespeed.patterns import Step, Transfer
from wirespeed.programs import ProgramPattern
from wirespeed.rank.context import RankContext
from wirespeed.rank.program import Program, work_alone
from wirespeed.rank.teams import TeamSamples
from wirespeed.statistics.samples import Samples

BATCHES, SECONDS = 16, 0.15
"""Of each of the two, at most; --max-time limits it, too."""
COPIED, MOST_COPIES = 2 << 30, 32
"""Copies an iteration: so many bytes, so that the wait for them is nothing."""


def limits(
    context: RankContext, pattern: ProgramPattern, transport: Any, buffers: Any, size: int
) -> dict[str, Any]:
    """Collective. What the record says of the program; times are those of the slowest rank.

    Field and reference are no longer what they were.
    """
    shape, rank = context.shape, context.comm.rank
    facts = pattern.facts(shape)
    with closing(Program(context, transport, buffers, size, steps=work_alone(context, size))) as program:
        compute = _seconds(context, pattern, program, facts.steps_per_iteration)
    one = pattern.copied(rank, shape)
    count = max(1, min(COPIED // one.bytes, MOST_COPIES))
    copying = context.open_transport("copy", "")
    try:
        steps = [Step(sends=(one,) * count, receives=(_landed(one),) * count)]
        with closing(Program(context, copying, buffers, size, in_place=False, steps=steps)) as program:
            copy = _seconds(context, pattern, program, count)
    finally:
        context.core.lib.ws_transport_abandon(copying)
    return {**asdict(facts), "compute": compute, "copy": copy, "copied_bytes": one.bytes}


def _landed(one: Transfer) -> Transfer:
    """A copy as its receiver, the same rank, sees it."""
    return replace(one, offset=one.remote_offset, remote_offset=one.offset)


def _seconds(
    context: RankContext, pattern: ProgramPattern, program: Program, divisor: int
) -> dict[str, float]:
    """Median and interval of an iteration / divisor, on every rank."""
    team, samples = TeamSamples(context.comm, pattern, context.shape, 0), Samples()
    try:
        estimate = context.comm.maximum(min(program.run(1, samples=2, untimed=1)))
        seconds = min(SECONDS, context.plan.stopping.max_time)
        each = max(1, min(int(seconds / BATCHES / max(estimate, 1e-9)), 1000))
        for _ in range(BATCHES):
            context.comm.barrier()
            samples.add([one / divisor for one in team.gathered(program.run(1, samples=each, untimed=1))])
        found = team.summary_of(samples, 0)["seconds"]
        return {name: float(found[name]) for name in ("median", "low", "high")}
    finally:
        team.close()
