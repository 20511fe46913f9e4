"""Plans batches of samples until the figure is precise enough, and which of them are checked.

The timed loop itself is in the core (native/measure/program.cpp), which Program.run calls; no Python runs
inside it. Rank 0 alone decides when to stop, between batches.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from wirespeed.job.records import BatchClock, Cores, Start
from wirespeed.rank.check.payload_check import Check
from wirespeed.rank.context import RankContext
from wirespeed.rank.observe.clock_agreement import ClockAgreement
from wirespeed.rank.observe.cpu_wait import CpuWait
from wirespeed.rank.path.teams import TeamSamples
from wirespeed.rank.program import Batch, Program
from wirespeed.statistics.samples import Samples
from wirespeed.statistics.stopping import StoppingRule, until_next_moment

if TYPE_CHECKING:
    from wirespeed.rank.path.program_limits import Computation

WARM_UP_ITERATIONS, WARM_UP_SECONDS = 5, 0.05
LONG_ITERATION_SECONDS = 0.05
"""Longer iterations are not repeated for checks, or to settle a program, as shorter ones are."""
LEAD_SECONDS = 1e-4
"""Untimed iterations before a batch of short ones, where another size has just run."""
PROGRESS_SECONDS, FIRST_PROGRESS_SECONDS = 0.5, 0.1
MIN_BATCHES, LONG_BATCH_SECONDS = 16, 0.25
"""Batches of iterations that only a program needs, at least, and seconds of each, at most; as many of one
whose barriers take longer than its samples."""

Result = TypeVar("Result")
Turns = Generator[None, int, Result]
"""A measurement that pauses after each batch, and is sent how many sizes take turns then."""

TellProgress = Callable[[int, float, float | None], None]
"""Is told samples, their median in seconds, and precision."""
CHECK_SHARE = 0.1
"""Limit of the time for checks, as a share of all time spent on the phase."""


class CheckBudget:
    """Seconds that checks of one phase have taken, the first one before its samples."""

    def __init__(self, first_s: float) -> None:
        """`first_s`: what the check before the samples took; a batch's first one should take as long."""
        self._first_s = self._spent_s = self._latest_s = first_s

    def add(self, seconds: float) -> None:
        """A batch's check took so long."""
        self._spent_s += seconds
        self._latest_s = seconds

    def allows(self, elapsed_s: float) -> bool:
        """Is there time to check the next batch? `elapsed_s`: from the first batch's begin to its end."""
        return self._spent_s + self._latest_s <= CHECK_SHARE * (elapsed_s + self._first_s)


@dataclass
class _AllTeams:
    """All teams' samples as rank 0 knows them, for the stopping rule."""

    count: int = 0
    batches: int = 0
    latest: float = 0.0
    widest: float | None = None
    """Relative half-width of the widest team interval."""

    def precision(self) -> float | None:
        return self.widest

    def after(self, count: int, long_samples: bool) -> _AllTeams:
        """The same with so many samples more."""
        return replace(self, count=self.count + count, batches=self.batches + (count if long_samples else 1))


@dataclass(frozen=True)
class PhaseSamples:
    """A phase's samples on this rank, how they were taken, and what the transport chose."""

    samples: Samples
    iterations_per_sample: int
    stopped: str
    batches: int
    """Uninterrupted runs of iterations that were timed."""
    checking_s: float
    """Seconds in which these got new content and were compared."""
    details: dict[str, Any]
    cores: Cores
    """Waits of the ranks for CPUs meanwhile (CpuWait.worst)."""
    clock: BatchClock | None
    """Sum of the samples against the host's clock (ClockAgreement.worst)."""
    start: Start | None = None
    """On rank 0: how far apart the ranks began their samples (Program.start)."""
    waited: float | None = None
    """This rank's own share of the timed seconds without a CPU; None: not counted."""


class Sampler:
    """Checks, warms up, and samples batches, of which it checks some. All methods are collective."""

    def __init__(
        self,
        context: RankContext,
        program: Program,
        check: Check,
        team: TeamSamples,
        progress: TellProgress,
        computation: Computation | None = None,
    ) -> None:
        """`computation`: measured by turns with the program."""
        self._context, self._comm, self._stopping = context, context.comm, context.plan.stopping
        self._ranges = context.ranges
        self._program, self._payload, self._team, self._progress = program, check, team, progress
        self._divisor = context.pattern.figure(program.size).divisor
        self._least = context.pattern.timing.least_iterations
        self._samples, self._wait, self._clock = Samples(), CpuWait(), ClockAgreement()
        self._computation = computation
        self._batches = 0
        self._checking_s = 0.0
        self._last_checked = False
        """Was the latest batch?"""
        self._check_s = 0.0
        """The latest check took so long, without the iterations that it checked."""
        self._around_s = 0.0
        """Seconds around each of the latest samples: a barrier's, which is long where ranks share CPUs."""
        self.paused = 0.0
        """Seconds in which other sizes had their turns."""

    def measure(self) -> Turns[PhaseSamples]:
        """Raises PayloadMismatch on every rank."""
        first = self._comm.maximum(self._check())
        self._wait.alone = self._context.put_threads_aside()
        if self._stopping.loops is not None:
            per_sample, stopped = self._fixed(self._stopping.loops), "fixed"
        else:
            per_sample, stopped = yield from self._sample(first)
            # A batch that was still to be checked may have widened the interval.
            if stopped == "precision" and (self._team.widest(self._samples) or 0) > self._stopping.precision:
                stopped = "max-time"
        # The median decides, because a first iteration may be long on a busy machine.
        long = self._team.slowest_latest(self._samples) * self._divisor >= LONG_ITERATION_SECONDS
        if not (self._payload.takes_batches or long):
            self._check()
        return PhaseSamples(
            self._samples,
            per_sample,
            stopped,
            self._batches,
            self._checking_s,
            self._program.described(),
            self._wait.worst(self._comm),
            self._clock.worst(self._comm),
            self._program.start(),
            self._wait.share,
        )

    def _check(self) -> float:
        """Seconds of one checked iteration."""
        began = time.monotonic()
        with self._ranges("check"):
            seconds = self._payload.checked_iteration(self._program)
        self._check_s = max(time.monotonic() - began - seconds, 0.0)
        return seconds

    def _fixed(self, loops: int) -> int:
        """Iterations per sample: all in one elapsed time, as in the tutorial; one behind each barrier."""
        warm_up = WARM_UP_ITERATIONS if self._stopping.warmup is None else self._stopping.warmup
        each = self._context.pattern.timing.barrier
        per_sample, samples = (1, loops) if each else (loops, 1)
        self._take_batch(per_sample, samples, warm_up, check=self._payload.takes_batches)
        return per_sample

    def _warm_up(self, first: float) -> float:
        """Five iterations or 0.05 s, whichever comes first, or --warmup's; the seconds of one.

        The checked iteration is the first of the five.
        """
        rest = min(WARM_UP_ITERATIONS - 1, math.ceil((WARM_UP_SECONDS - first) / max(first, 1e-9)))
        if self._stopping.warmup is not None:
            rest = self._stopping.warmup
        if rest <= 0:
            return first
        if rest == 1:
            return self._comm.maximum(self._program.run())
        return self._comm.maximum(min(self._timed(1, rest - 1).seconds))

    def _sample(self, first: float) -> Turns[tuple[int, str]]:
        """Batch after batch, until rank 0 decides to stop: iterations per sample, and the reason."""
        with self._ranges("warm-up"):
            estimate = self._warm_up(first)
        # Some libraries start threads with their first messages.
        self._context.put_threads_aside()
        until = self._context.more_until
        more_s = None if until is None else lambda: until - time.monotonic()
        context = self._context
        clock = self._program.clock()
        rule = StoppingRule(
            self._stopping, *clock, self._divisor, more_s, context.ending, lambda: context.late
        )
        if more := self._comm.share(rule.calibration_iterations(estimate)):
            estimate = self._comm.maximum(self._program.run(more))
        self._program.start()  # of the warm-up
        taking_turns = yield from self._pause()
        elapsed, resumed = 0.0, time.monotonic()
        last_progress = resumed - PROGRESS_SECONDS + FIRST_PROGRESS_SECONDS
        teams = _AllTeams()
        budget, recent = CheckBudget(self._check_s), estimate
        enough: str | None = None
        """Why the figure needs no more samples; a program may need more iterations, which follow at once."""
        reason: str | None = None
        next_moment, dice = 0.0, random.Random()
        while True:
            now = time.monotonic()
            elapsed, resumed = elapsed + now - resumed, now
            if self._comm.share(rule.due(teams, elapsed)):
                teams.widest = self._team.widest(self._samples)
            batch = (0, 0, 0, False, False)
            if self._comm.rank == 0:
                enough = enough or rule.decide(teams, elapsed)
                missing = self._least - teams.count * rule.iterations_per_sample
                reason = enough if missing <= 0 or self._context.late else None
                if reason is None or (self._payload.takes_batches and not self._last_checked):
                    per_sample, count = rule.next_batch(estimate, teams, elapsed, taking_turns)
                    untimed = per_sample if estimate * per_sample < 1e-3 else 1
                    if taking_turns > 1 or teams.count:
                        untimed = max(untimed, math.ceil(LEAD_SECONDS / max(estimate, 1e-9)))
                    if enough and missing > 0:
                        most = int(LONG_BATCH_SECONDS / (per_sample * max(recent, 1e-9)))
                        part = self._least / MIN_BATCHES / per_sample
                        count = max(count, min(math.ceil(part), math.ceil(missing / per_sample), most))
                    if self._around_s > per_sample * recent:
                        count = min(count, max(1, int(LONG_BATCH_SECONDS / self._around_s)))
                    after = teams.after(count, rule.long_samples)
                    seconds = (untimed + per_sample * count) * recent
                    last = after.count * per_sample >= self._least and rule.over(after, elapsed + seconds)
                    check = reason is not None or last or budget.allows(elapsed + seconds)
                    check = check and self._payload.takes_batches
                    batch = (untimed, per_sample, count, check, rule.long_samples)
                    if not enough:
                        time.sleep(max(0.0, next_moment - time.monotonic()))
                    resumed = time.monotonic()
                    next_moment = resumed + until_next_moment(dice)
            untimed, per_sample, count, check, long_samples = self._comm.share(batch)
            if count == 0:
                return rule.iterations_per_sample, self._comm.share(str(reason))
            rule.iterations_per_sample = per_sample
            self._samples.step_s = rule.step_s
            self._take_batch(per_sample, count, untimed, long_samples, check)
            if check:
                budget.add(self._check_s)
            teams = teams.after(count, long_samples)
            teams.latest = self._team.slowest_latest(self._samples)
            recent = teams.latest * self._divisor
            if self._comm.rank == 0 and time.monotonic() - last_progress > PROGRESS_SECONDS:
                last_progress = time.monotonic()
                samples, seconds, precision = self._samples, teams.latest, None
                if samples.count:
                    seconds, precision = samples.median(), samples.precision()
                self._progress(teams.count, seconds, precision)
            if taking_turns > 1:
                elapsed += time.monotonic() - resumed
                taking_turns = yield from self._pause()
                rule.left_behind = taking_turns == 1
                resumed = time.monotonic()

    def _pause(self) -> Turns[int]:
        """Other sizes run; how many take turns then."""
        began = time.monotonic()
        taking_turns = yield
        self.paused += time.monotonic() - began
        return taking_turns

    def _timed(self, per_sample: int, count: int, untimed: int = 1) -> Batch:
        began = time.monotonic()
        batch = self._program.sample(per_sample, count, untimed)
        inside = batch.iterations * sum(batch.seconds) / count
        self._around_s = max(time.monotonic() - began - inside, 0.0) / count
        return batch

    def _take_batch(
        self, per_sample: int, count: int, untimed: int, long_samples: bool = False, check: bool = False
    ) -> None:
        """`long_samples`: each counts as a batch. `check`: from new content on, which is compared at once."""
        began = time.monotonic()
        if check:
            with self._ranges("check"):
                self._payload.begin_batch(self._program)
        self._check_s = time.monotonic() - began
        with self._batch_range(count, per_sample), self._wait.timed():
            batch = self._timed(per_sample, count, untimed)
        began = time.monotonic()
        if check:
            with self._ranges("check"):
                self._payload.end_batch(self._program, batch.iterations)
        self._check_s += time.monotonic() - began
        self._batches += 1
        self._checking_s += self._check_s if check else 0.0
        self._last_checked = check
        self._clock.add(batch)
        seconds = self._team.gathered(batch.seconds)
        self._samples.add([value / self._divisor for value in seconds], each=long_samples)
        if self._computation:
            with self._ranges("computation"):
                self._computation.turn()

    def _batch_range(self, samples: int, iterations: int) -> AbstractContextManager[None]:
        """The range of a batch; a program's is a block of its steps."""
        steps = samples * iterations * round(self._divisor)
        name = f"{steps} steps" if self._context.pattern.kind.program else ""
        return self._ranges("batch", name, samples=samples, iterations=iterations)
