"""References for a program's time, in the same job step: its computation alone, and copies."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace

from wirespeed.host.handles import BuffersHandle
from wirespeed.job.records import BatchClock, Interval, ProgramTimes, interval
from wirespeed.patterns import Step
from wirespeed.programs import ProgramPattern, as_program
from wirespeed.rank.check.payload_check import Check
from wirespeed.rank.context import RankContext, Wanted
from wirespeed.rank.faults.words import open_program
from wirespeed.rank.observe.clock_agreement import ClockAgreement
from wirespeed.rank.observe.cpu_wait import CpuWait
from wirespeed.rank.path.teams import TeamSamples
from wirespeed.rank.program import Program, work_alone
from wirespeed.statistics.samples import Samples
from wirespeed.statistics.stopping import StoppingRule

BATCHES, SECONDS = 16, 0.15
"""Batches and seconds of each of the two, at most; --max-time limits it, too."""
FEWEST_BATCHES = 6
"""Batches of long iterations."""
COPIED, MAX_COPIES = 2 << 30, 32
"""Copies an iteration: so many bytes, so that the wait for them is nothing."""


class _Baseline:
    """Batches of a program that the measured one is compared with. All methods are collective."""

    def __init__(self, context: RankContext, program: Program, divisor: int, of: str) -> None:
        """`of`: its name where its batches do not add up to the host's clock."""
        self._clock = ClockAgreement(of)
        self._comm, self._program, self._divisor = context.comm, program, divisor
        self._team = TeamSamples(context.comm, context.pattern, 0)
        self._samples = Samples()
        self._stopping = context.plan.stopping
        self._seconds = min(SECONDS, self._stopping.max_time)
        self._per_sample = self._per_batch = 0
        self._batches, self._elapsed = 0, 0.0
        self._wait = CpuWait()

    def wants_more(self) -> bool:
        mine = self._batches < BATCHES and (self._batches < FEWEST_BATCHES or self._elapsed < self._seconds)
        return bool(self._comm.share(mine))

    def batch(self) -> None:
        began = time.monotonic()
        if not self._per_batch:
            self._plan()
        with self._wait.timed():
            batch = self._program.sample(self._per_sample, self._per_batch, self._per_sample)
        self._clock.add(batch)
        self._samples.add([value / self._divisor for value in self._team.gathered(batch.seconds)])
        self._batches += 1
        self._elapsed += time.monotonic() - began

    def _plan(self) -> None:
        """Samples as long as a figure's, so that the clock's own cost is as small in them."""
        estimate = self._comm.maximum(min(self._program.sample(1, 2).seconds))
        rule = StoppingRule(replace(self._stopping, loops=None), *self._program.clock())
        if more := self._comm.share(rule.calibration_iterations(estimate)):
            estimate = self._comm.maximum(self._program.run(more))
        self._per_sample, _ = self._comm.share(rule.next_batch(estimate, Samples(), 0.0))
        sample_s = self._per_sample * max(estimate, 1e-9)
        self._per_batch = max(1, min(int(self._seconds / BATCHES / sample_s), 1000))

    def summary(self) -> Interval:
        """Median and interval of an iteration / divisor, of the slowest rank, on every rank."""
        return interval(self._team.summary_of(self._samples, 0)["seconds"])

    def waited(self) -> float | None:
        """Share of its time in which the rank that waited most had no CPU; None where nobody counts."""
        share = self._comm.maximum(-1.0 if self._wait.share is None else self._wait.share)
        return None if share < 0 else share

    def clock(self) -> BatchClock | None:
        """ClockAgreement.worst of its batches."""
        return self._clock.worst(self._comm)

    def close(self) -> None:
        self._team.close()


class Computation:
    """A program's steps without their transfers, measured by turns with the program itself."""

    def __init__(self, context: RankContext, wanted: Wanted, check: Check) -> None:
        """Collective, as are all methods. `wanted`: the program. `check`: it knows how the field begins."""
        divisor = as_program(context.pattern).facts.steps_per_iteration
        alone = work_alone(context, wanted.size)
        self._program = open_program(context, replace(wanted, steps=alone))
        self._baseline = _Baseline(context, self._program, divisor, "its computation")
        self._check = check

    def turn(self) -> None:
        """One batch, as long as there are few; then the field is as at the program's start."""
        if self._baseline.wants_more():
            self._baseline.batch()
            self._check.restart()

    def facts(self) -> ProgramTimes:
        """What a record says of it; batches that are still missing are made up for."""
        while self._baseline.wants_more():
            self._baseline.batch()
        return ProgramTimes(compute=self._baseline.summary(), compute_waited=self._baseline.waited())

    def clock(self) -> BatchClock | None:
        """Agreement of its samples with the host's clock."""
        return self._baseline.clock()

    def close(self) -> None:
        self._baseline.close()
        self._program.close()


def limits(
    context: RankContext, pattern: ProgramPattern, buffers: BuffersHandle, size: int
) -> tuple[ProgramTimes, BatchClock | None]:
    """Collective. What the record says of the program, and whether the copies' samples add up to the host's
    clock; times are those of the slowest rank.

    Field and reference are no longer what they were.
    """
    rank = context.comm.rank
    transfer = pattern.copied(rank)
    count = max(1, min(COPIED // transfer.bytes, MAX_COPIES))
    copying = context.open_transport("copy", "")
    try:
        landed = replace(transfer, offset=transfer.remote_offset, remote_offset=transfer.offset)
        steps = [Step(sends=(transfer,) * count, receives=(landed,) * count)]
        opened = open_program(context, Wanted(copying, buffers, size, in_place=False, steps=steps))
        with closing(opened) as program:
            baseline = _Baseline(context, program, count, "the driver's copy")
            while baseline.wants_more():
                baseline.batch()
            copy, clock = baseline.summary(), baseline.clock()
            baseline.close()
    finally:
        context.core.lib.ws_transport_abandon(copying)
    facts = pattern.facts
    found = ProgramTimes(
        grid=facts.grid,
        block=facts.block,
        ranks=facts.ranks,
        steps_per_iteration=facts.steps_per_iteration,
        bytes_per_site=facts.bytes_per_site,
        flops_per_site=facts.flops_per_site,
        copy=copy,
        copied_bytes=transfer.bytes,
    )
    return found, clock
