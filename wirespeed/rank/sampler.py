"""Plans batches of samples until the figure is precise enough.

The timed loop itself is in the core (native/measure/program.cpp), which Program.run calls; no Python runs
inside it. Rank 0 alone decides when to stop, between batches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from wirespeed.programs import ProgramPattern
from wirespeed.rank.context import RankContext
from wirespeed.rank.cpu_wait import CpuWait
from wirespeed.rank.payload_check import Check
from wirespeed.rank.program import Program
from wirespeed.rank.teams import TeamSamples
from wirespeed.statistics.samples import Samples
from wirespeed.statistics.stopping import StoppingRule

CHECK_SHARE = 0.1
"""Limit of the time for checked iterations between batches, as a share of all time spent on the phase."""
WARM_UP_ITERATIONS, WARM_UP_SECONDS = 5, 0.05
LONG_ITERATION_SECONDS = 0.05
"""Longer iterations are checked before the samples only, shorter ones after them too."""
LEAD_SECONDS = 1e-4
"""Untimed iterations before a batch of short ones, where another size has just run."""
PROGRESS_SECONDS = 0.5

Result = TypeVar("Result")
Turns = Generator[None, int, Result]
"""A measurement that pauses after each batch, and is sent how many sizes take turns then."""

Progress = Callable[[int, float | None, float], None]
"""Is told samples, precision and elapsed seconds."""


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


@dataclass(frozen=True)
class PhaseSamples:
    """A phase's samples on this rank, how they were taken, and what the transport chose."""

    samples: Samples
    iterations_per_sample: int
    stopped: str
    details: dict[str, Any]
    cores: dict[str, Any]
    """Whether the ranks had CPUs meanwhile (CpuWait.worst)."""
    waited: float | None = None
    """This rank's own share of the timed seconds without a CPU; None: not counted."""


class Sampler:
    """Checks, warms up, samples and checks again. All methods are collective."""

    def __init__(
        self,
        context: RankContext,
        program: Program,
        check: Check,
        team: TeamSamples,
        progress: Progress,
    ) -> None:
        self._context, self._comm, self._stopping = context, context.comm, context.plan.stopping
        self._ranges = context.ranges
        self._program, self._payload, self._team, self._progress = program, check, team, progress
        self._divisor = context.pattern.figure(context.shape, program.size).divisor
        self._least = context.pattern.least_iterations(context.shape)
        self._samples, self._wait = Samples(), CpuWait()
        self._checking = 0.0
        self.paused = 0.0
        """Seconds in which other sizes had their turns."""

    def measure(self, timed: Program) -> Turns[PhaseSamples]:
        """`timed`: the program whose time counts, which with --loops may use one buffer only.

        Raises PayloadMismatch on every rank.
        """
        first = self._comm.maximum(self._check())
        if self._stopping.loops is not None:
            per_sample, stopped = self._fixed(timed, self._stopping.loops), "fixed"
        else:
            per_sample, stopped = yield from self._sample(first)
        # The median decides, because a first iteration may be long on a busy machine.
        if self._team.slowest_latest(self._samples) * self._divisor < LONG_ITERATION_SECONDS:
            self._check()
        cores = self._wait.worst(self._comm)
        return PhaseSamples(self._samples, per_sample, stopped, timed.described(), cores, self._wait.share)

    def _check(self) -> float:
        """Seconds of one checked iteration."""
        began = time.monotonic()
        with self._ranges("check"):
            seconds = self._payload.checked_iteration(self._program)
        self._checking += time.monotonic() - began
        return seconds

    def _fixed(self, timed: Program, loops: int) -> int:
        """As the ping-pong tutorial: one elapsed time over all loops."""
        warm_up = WARM_UP_ITERATIONS if self._stopping.warmup is None else self._stopping.warmup
        with self._batch(1, loops), self._wait.timed():
            seconds = timed.run(loops, untimed=warm_up)
        self._keep(seconds)
        return loops

    def _warm_up(self, first: float) -> float:
        """Five iterations or 0.05 s, whichever comes first, or --warmup's; the seconds of one.

        The checked iteration is the first of the five.
        """
        rest = min(WARM_UP_ITERATIONS - 1, math.ceil((WARM_UP_SECONDS - first) / max(first, 1e-9)))
        if self._stopping.warmup is not None:
            rest = self._stopping.warmup
        return self._comm.maximum(min(self._program.run(1, samples=rest))) if rest > 0 else first

    def _sample(self, first: float) -> Turns[tuple[int, str]]:
        """Batch after batch, until rank 0 decides to stop: iterations per sample, and the reason."""
        with self._ranges("warm-up"):
            estimate = self._warm_up(first)
        rule = StoppingRule(self._stopping, *self._program.clock(), divisor=self._divisor)
        if more := self._comm.share(rule.calibration_iterations(estimate)):
            estimate = self._comm.maximum(self._program.run(more)[0])
        taking_turns = yield from self._pause()
        elapsed, resumed = 0.0, time.monotonic()
        last_progress = resumed
        teams = _AllTeams()
        reason: str | None = None
        while True:
            now = time.monotonic()
            elapsed, resumed = elapsed + now - resumed, now
            if self._comm.share(rule.due(teams, elapsed)):
                teams.widest = self._team.widest(self._samples)
            batch = (0, 0, 0, False)
            if self._comm.rank == 0:
                reason = rule.decide(teams, elapsed)
                if reason and teams.count * rule.iterations_per_sample < self._least:
                    reason = None
                if reason is None:
                    per_sample, count = rule.next_batch(estimate, teams, elapsed, taking_turns)
                    untimed = per_sample if estimate * per_sample < 1e-3 else 0
                    if untimed and taking_turns > 1:
                        untimed = max(untimed, math.ceil(LEAD_SECONDS / max(estimate, 1e-9)))
                    batch = (untimed, per_sample, count, teams.count > 0 and self._may_check(elapsed))
            untimed, per_sample, count, check = self._comm.share(batch)
            if count == 0:
                return rule.iterations_per_sample, self._comm.share(str(reason))
            rule.iterations_per_sample = per_sample
            self._samples.step_s = rule.step_s
            if check:
                self._check()
            with self._batch(count, per_sample), self._wait.timed():
                seconds = self._program.run(per_sample, count, untimed)
            self._keep(seconds)
            teams.count, teams.batches = teams.count + count, teams.batches + 1
            teams.latest = self._team.slowest_latest(self._samples)
            if self._comm.rank == 0 and time.monotonic() - last_progress > PROGRESS_SECONDS:
                last_progress = time.monotonic()
                precision = self._samples.precision() if self._samples.count else None
                self._progress(teams.count, precision, elapsed)
            if taking_turns > 1:
                elapsed += time.monotonic() - resumed
                taking_turns = yield from self._pause()
                resumed = time.monotonic()

    def _pause(self) -> Turns[int]:
        """Other sizes run; how many take turns then."""
        began = time.monotonic()
        taking_turns = yield
        self.paused += time.monotonic() - began
        return taking_turns

    def _batch(self, samples: int, iterations: int) -> AbstractContextManager[None]:
        """The range of a batch; a program's is a block of its steps."""
        steps = samples * iterations * round(self._divisor)
        name = f"{steps} steps" if isinstance(self._context.pattern, ProgramPattern) else ""
        return self._ranges("batch", name, samples=samples, iterations=iterations)

    def _keep(self, seconds: list[float]) -> None:
        self._samples.add([value / self._divisor for value in self._team.gathered(seconds)])

    def _may_check(self, elapsed: float) -> bool:
        return self._checking <= CHECK_SHARE * (elapsed + self._checking)
