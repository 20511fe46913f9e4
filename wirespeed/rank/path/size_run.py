"""One message size on one path: every phase of the pattern, and the entry that comes of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wirespeed.job.messages import Progress
from wirespeed.job.records import (
    Baseline,
    BatchClock,
    Derived,
    Figure,
    ProgramTimes,
    Rates,
    TeamFigure,
    in_unit,
    rate,
)
from wirespeed.paths import TransferPath
from wirespeed.rank.check.checks import check_of
from wirespeed.rank.check.payload_check import Alive
from wirespeed.rank.context import RankContext, Wanted
from wirespeed.rank.faults.words import open_program
from wirespeed.rank.observe.clock_agreement import gravest
from wirespeed.rank.path.buffers import SMALL
from wirespeed.rank.path.sampler import LONG_ITERATION_SECONDS, PhaseSamples, Sampler, Turns
from wirespeed.rank.path.teams import TeamSamples
from wirespeed.rank.program import Program, work_alone
from wirespeed.statistics.samples import Summary
from wirespeed.statistics.slowest import of_the_slowest

if TYPE_CHECKING:
    from wirespeed.rank.check.field_views import FieldViews
    from wirespeed.rank.observe.wire_counting import WireCounting
    from wirespeed.rank.path.program_limits import Computation

PHASES_AT_ONCE = 8
"""Phases of a pattern that take turns: they fill the time between two moments of one."""


@dataclass(frozen=True)
class SizeResult:
    """Facts that counting bytes needs about a size that has a figure."""

    protocol: str = ""
    """The transport's words for what it chose."""
    seconds: float = 0.0
    """Median of an iteration; 0: no figure."""


class SizeRun:
    """One message size: all phases of the pattern. All public methods are collective."""

    def __init__(
        self,
        context: RankContext,
        path: TransferPath,
        wanted: Wanted,
        position: Progress,
        alive: Alive,
    ) -> None:
        """`position`: what a progress message says of this size among all. `alive`: tells the watchdog."""
        self._context, self._path, self._size, self._position = context, path, wanted.size, position
        self._wanted = wanted
        self._payload = check_of(context, path, wanted.buffers, wanted.size, alive)
        self._program_times: ProgramTimes | None = None
        self._phases = context.pattern.timing.phases
        self._reported = context.pattern.timing.reported
        self._phase = 0
        self._batches = 0
        self._checking_s = 0.0
        self._computation: Computation | None = None
        self._other_clocks: tuple[BatchClock | None, ...] = ()
        """Clock agreement of what the figure is compared with (ClockAgreement.worst)."""
        self._beside: PhaseSamples | None = None
        """Samples of the baseline."""
        self._teams: list[TeamFigure] = []
        self._rivals = 0
        """The figure is that of the slowest of so many teams."""
        self._slowest: tuple[PhaseSamples, Summary] | None = None
        self._baseline: Baseline | None = None
        self._began = time.monotonic()

    def trial(self) -> None:
        """Two checked iterations of the first phase: does this path move these bytes at all?"""
        with self._program(0) as program:
            for _ in range(2):
                self._payload.checked_iteration(program)

    def count(self, counting: WireCounting, seconds: float) -> str | None:
        """Tells which wires the bytes of the reported phase, or of the first one, travelled over.

        `seconds`: of an iteration, as measured; 0 where it has no figure. Returns the verdict, with what is
        suspicious about it; None on other ranks than 0.
        """
        with self._program(self._reported or 0) as program:
            if seconds < LONG_ITERATION_SECONDS:
                # A program is new to a library at first; what it sets up then crosses wires, too.
                first = self._context.comm.maximum(program.run())
                seconds = seconds or first
            setup = None
            if self._context.pattern.shown.counts_copies:
                setup = counting.setup_copies(self._payload, program)
            if found := counting.evidence(program, seconds, setup):
                self._context.tell(found)
                return f"{found['verdict']}, {'suspicious' if found['suspicious'] else 'as declared'}"
        return None

    def measure(self) -> Turns[SizeResult]:
        """Measures every phase; rank 0 tells the entry."""
        context = self._context
        phases = range(self._phases)
        if context.plan.reported_phase_only and self._reported is not None:
            phases = range(self._reported, self._reported + 1)
        with ExitStack() as open_now:
            if context.pattern.kind.program:
                from wirespeed.rank.path.program_limits import Computation

                self._computation = open_now.enter_context(
                    closing(Computation(context, self._wanted, self._payload))
                )
            if len(phases) == 1:
                (self._phase,) = phases
                with closing(self._team(self._phase)) as team:
                    self._take(team, (yield from self._sampled(team)))
            else:
                at_once = PHASES_AT_ONCE if self._interleaved else 1
                for first in range(0, len(phases), at_once):
                    self._by_turns(phases[first : first + at_once])
            if self._computation:
                with context.ranges("computation"):
                    compute, clock = self._computation.facts(), self._computation.clock()
        if context.pattern.kind.program:
            self._compare_program(compute, clock)
        assert self._slowest
        sampled, summary = self._slowest
        prepare_s = context.comm.maximum(float(sampled.details.pop("prepare_s", 0.0)))
        compared = int(context.comm.maximum(self._payload.bytes))
        if context.comm.rank == 0:
            context.tell(self._figure(compared, prepare_s))
        words = (f"{name}: {word}" for name, word in sampled.details.items() if isinstance(word, str))
        divisor = context.pattern.figure(self._size).divisor
        return SizeResult(" ".join(words), divisor * _median(summary))

    def _compare_program(self, compute: ProgramTimes, clock: BatchClock | None) -> None:
        """What a program's record says beside its time. `compute`: its computation alone, with that clock."""
        from wirespeed.programs import as_program
        from wirespeed.rank.path.program_limits import limits

        context = self._context
        pattern, rank = as_program(context.pattern), context.comm.rank
        with context.ranges("limits"):
            found, of_copies = limits(context, pattern, self._wanted.buffers, self._size)
        found |= compute
        self._other_clocks = clock, of_copies
        if pattern.sampling(rank):
            with self._views() as views, context.ranges("constant"):
                found["constant"] = views.constant()
        if pattern.convergence(rank):
            with self._views() as views, context.ranges("converged"):
                found["converged"] = views.converged()
        self._program_times = found

    @property
    def _interleaved(self) -> bool:
        """Do phases take turns? Those that are compared must: speeds change from second to second."""
        compared = bool(self._context.pattern.timing.baseline)
        return compared or (self._reported is None and self._size <= max(SMALL))

    def _by_turns(self, phases: Sequence[int]) -> None:
        """Measures phases a batch of each in turn: one alone would wait from one moment to the next."""
        with ExitStack() as open_now:
            teams = {phase: open_now.enter_context(closing(self._team(phase))) for phase in phases}
            running = {phase: self._sampled(team) for phase, team in teams.items()}
            for sampling in running.values():
                open_now.enter_context(closing(sampling))
            done: dict[int, PhaseSamples] = {}
            at_once: int | None = None
            began = self._began
            while len(done) < len(running):
                for phase in [phase for phase in running if phase not in done]:
                    self._phase = phase
                    try:
                        next(running[phase]) if at_once is None else running[phase].send(at_once)
                    except StopIteration as end:
                        done[phase] = end.value
                at_once = len(running) - len(done)
            # They have waited for each other alone.
            self._began = began
            for phase in phases:
                self._phase = phase
                self._take(teams[phase], done[phase])

    def _team(self, phase: int) -> TeamSamples:
        return TeamSamples(self._context.comm, self._context.pattern, phase)

    def draw(self) -> None:
        """Rank 0 tells a picture of the program's field."""
        with self._views(past=1) as views:
            views.picture(self._path.name)

    @contextmanager
    def _views(self, past: int = 0) -> Iterator[FieldViews]:
        """`past`: 1 if this size has its figure already."""
        from wirespeed.programs import as_program
        from wirespeed.rank.check.field_memory import FieldMemory
        from wirespeed.rank.check.field_views import FieldViews

        position = self._position._replace(place=self._position.place + past)

        def doing(text: str) -> None:
            self._context.tell(position._replace(doing=text))

        memory = FieldMemory(self._context, self._path.memory, self._wanted.buffers)
        with self._program(0) as program:
            yield FieldViews(self._context, as_program(self._context.pattern), memory, program, doing)

    def _program(self, phase: int) -> closing[Program]:
        steps = work_alone(self._context, self._size) if self._path.work_alone else None
        wanted = replace(self._wanted, phase=phase, steps=steps)
        return closing(open_program(self._context, wanted))

    def _sampled(self, team: TeamSamples) -> Turns[PhaseSamples]:
        with self._program(self._phase) as program:
            sampler = Sampler(self._context, program, self._payload, team, self._progress, self._computation)
            found = yield from sampler.measure()
        self._began += sampler.paused
        return found

    def _take(self, team: TeamSamples, sampled: PhaseSamples) -> None:
        """Adds the phase's teams; keeps the summary of the slowest one so far. Collective."""
        self._batches += sampled.batches
        self._checking_s += sampled.checking_s
        found = team.figures(sampled.samples, sampled.waited)
        pattern = self._context.pattern
        if pattern.timing.baseline and self._phase == self._phases - 1:
            if found:
                self._baseline = Baseline(name=pattern.timing.baseline, seconds=found[0]["seconds"])
            self._beside = sampled
            return
        leader = -1
        if found:
            slowest = max(found, key=_median)
            before = max(map(_median, self._teams), default=-1.0)
            counts = _median(slowest) > before if self._reported is None else self._reported == self._phase
            leader = slowest["first"] if counts else -1
            self._teams += found
            self._rivals += len(found) if self._reported in (None, self._phase) else 0
        leader = self._context.comm.share(leader)
        if leader >= 0:
            self._slowest = sampled, team.summary_of(sampled.samples, leader)

    def _progress(self, samples: int, seconds: float, precision: float | None) -> None:
        phase = self._position._replace(phase=self._phase, phases=self._phases)
        figures = self._phases - bool(self._context.pattern.timing.baseline)
        is_whole = self._phase == (0 if figures == 1 else self._reported)
        self._context.tell(
            phase._replace(samples=samples, seconds=seconds if is_whole else None, precision=precision)
        )

    def _figure(self, compared: int, prepare_s: float) -> Figure:
        """On rank 0. `compared`: bytes, by the rank that compared most."""
        assert self._slowest
        sampled, summary = self._slowest
        meaning, ranks = self._context.pattern.figure(self._size), self._context.comm.size
        by = self._context.shape.options.get("by")
        summary = of_the_slowest(summary, self._rivals)
        times = summary["seconds"]
        both = (sampled, self._beside) if self._beside else (sampled,)
        checked = self._payload.told()
        checked |= {
            "iterations": self._payload.iterations,
            "batches": self._payload.batches,
            "of_batches": self._batches,
            "seconds": self._checking_s,
            "bytes": compared,
        }
        figure = Figure(
            kind="entry",
            pattern=self._context.pattern.name,
            path=self._path.name,
            memory=self._path.data,
            bytes=self._size,
            timed=meaning.timed,
            definition=meaning.definition,
            bandwidth_bytes=meaning.bytes,
            bytes_per_second=Rates(
                median=rate(meaning.bytes, times["median"]),
                low=rate(meaning.bytes, times["high"]),
                high=rate(meaning.bytes, times["low"]),
            ),
            derived=[
                Derived(
                    name=other.name,
                    unit=other.unit,
                    amount=other.amount,
                    median=in_unit(other.unit, other.amount, times["median"]),
                )
                for other in meaning.derived
            ],
            seconds=times,
            confidence=summary["confidence"],
            precision=summary["precision"],
            samples=summary["samples"],
            batches=summary["batches"],
            histogram=summary["histogram"],
            iterations_per_sample=sampled.iterations_per_sample,
            iterations=summary["samples"] * sampled.iterations_per_sample,
            stopped=sampled.stopped,
            checked=checked,
            # Whose steps a collective operation of ours took.
            details=sampled.details | ({"algorithm": str(by)} if self._path.algorithm else {}),
            # What spoils the baseline spoils the figure's share of it.
            cores=max(both, key=lambda phase: phase.cores["waited"] or 0.0).cores,
            clock=gravest(*(phase.clock for phase in both), *self._other_clocks),
            start=sampled.start,
            # One team of all ranks has the entry's own figure.
            teams=self._teams if len(self._teams) > 1 or self._teams[0]["ranks"] < ranks else [],
            elapsed_s=time.monotonic() - self._began,
        )
        if self._program_times:
            figure["program"] = self._program_times
        if self._baseline:
            figure["baseline"] = self._baseline
        if prepare_s:
            figure["prepare_s"] = prepare_s
        return figure


def _median(found: TeamFigure | Summary) -> float:
    return found["seconds"]["median"]
