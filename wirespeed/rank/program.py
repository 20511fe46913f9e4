"""A phase's transfers compiled by the core: what all ranks run together, timed or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from wirespeed.host.handles import ProgramHandle, SoakHandle
from wirespeed.job.records import Start
from wirespeed.patterns import Place, Step, Sums, Transfer, Work
from wirespeed.rank.context import RankContext, Wanted
from wirespeed.rank.work_list import WorkList, packed_collective

IN_PLACE, BARRIER_PER_SAMPLE, ALONE = 1, 2, 4
"""Flags of ws_program_open (native/wirespeed.h)."""
LONG_STAMPS, SHORT_STAMPS = 1, 2
"""Verdicts of ws_batch_clocks."""


@dataclass(frozen=True)
class Batch:
    """Samples of one uninterrupted run, and its seconds by the host's clock and by the program's."""

    seconds: list[float]
    """Seconds of an iteration, by sample."""
    host_s: float
    stamped_s: float
    verdict: int
    """0: the clocks agree; LONG_STAMPS or SHORT_STAMPS."""
    iterations: int
    """All that ran, untimed ones among them."""


class Program:
    """One phase at one message size. It is opened and run by all ranks together, and closed by each alone."""

    plants = False
    """For tests: does its soak have wrong messages?"""

    def __init__(self, context: RankContext, wanted: Wanted) -> None:
        """Collective. Raises Unusable on every rank where one cannot compile it.

        Before that RuntimeError where its pattern is not in the job: buffers would be too small.
        """
        pattern = context.pattern.in_job(context.comm.size)
        rank, size = context.comm.rank, wanted.size
        self._context, self._core = context, context.core
        self._transport, self.buffers, self.size = wanted.transport, wanted.buffers, size
        self._in_place = pattern.kind.in_place if wanted.in_place is None else wanted.in_place
        steps = wanted.steps
        self._alone = steps is not None and not any(step.sends or step.receives for step in steps)
        if steps is None:
            steps = self._of_pattern(context, wanted.phase)
        self.steps = [shifted(step, context.offset) for step in steps]
        self.apart: int | None = None
        """Bytes between two places of a block in a soak, where lists lie in several allocations."""
        moved = (transfer for step in self.steps for transfer in (*step.sends, *step.receives))
        if context.allocations and any(transfer.blocks for transfer in moved):
            self.apart = context.allocations.between(self.steps)
            self.buffers, self.steps = context.allocations.placed(self.steps, size)
        self.traffic: Sequence[Step] = self.steps
        """Steps that move the bytes; for a library's collective operation those that move the least.

        Of loads, the word that is loaded, not the chain.
        """
        if any(step.collective for step in steps):
            from wirespeed.patterns.collectives.operation import as_operation

            self.traffic = as_operation(pattern).least_traffic(rank, size)
        if pattern.checking.links:
            self.traffic = [_of_a_load(step) for step in self.steps]
        with context.ranges("protocol"):
            self._handle = self._compile(self.steps)

    def _of_pattern(self, context: RankContext, phase: int) -> Sequence[Step]:
        return context.pattern.steps(context.comm.rank, self.size, phase)

    def close(self) -> None:
        self._core.lib.ws_program_close(self._handle)

    def sums_after(self, iterations: int) -> Sums | None:
        """Doubles that iterations must make of the buffer's; None: they move bytes unchanged."""
        context = self._context
        of = context.pattern.checking.sums
        sums = of and of(context.comm.rank, self.size, iterations)
        return sums and replace(sums, offset=sums.offset + context.offset)

    def run(self, iterations: int = 1) -> float:
        """Collective. So many iterations; about the seconds of one, which are no figure."""
        seconds = self._core.ffi.new("double *")
        self._core.check(self._core.lib.ws_program_run(self._handle, iterations, seconds))
        return float(seconds[0])

    def sample(self, iterations: int, samples: int, untimed: int = 1) -> Batch:
        """Collective. Untimed iterations, one at least, then `samples` times `iterations`, in one run."""
        new, lib = self._core.ffi.new, self._core.lib
        seconds, clocks = new("double[]", samples), new("ws_batch_clocks *")
        self._core.check(lib.ws_program_sample(self._handle, untimed, iterations, samples, seconds, clocks))
        found = list(self._core.ffi.unpack(seconds, samples))
        ran = max(untimed, 1) + iterations * samples
        return Batch(found, clocks.host, clocks.stamped, clocks.verdict, ran)

    def open_soak(self, transfers: Sequence[tuple[int, ...]], apart: int, *planted: Any) -> SoakHandle:
        """The same transfers, free running and checked. `apart`: bytes between an iteration's places.

        `planted`: for tests, a kind of wrong message, and that one in so many is.
        """
        kind, every = planted or ("", 1)
        flat = self._core.ffi.new("ws_transfer[]", transfers)
        where = self._transport, self.buffers, flat, len(transfers), apart, self._handle
        return self._core.check(self._core.lib.ws_soak_open(*where, kind.encode(), every))

    def start(self) -> Start | None:
        """Collective. How the samples that a barrier precedes have begun since the last call, on rank 0.

        A record's `start`: that of the host whose ranks began furthest apart.
        """
        mine: Any = self._core.described(self._core.lib.ws_program_start(self._handle))
        by_rank: list[Start] | None = self._context.comm.gather(mine)
        if not by_rank or not by_rank[0]:
            return None
        counted = [skew for skew in by_rank if skew["samples"]]
        uncounted: Start = {**by_rank[0], "skew_s": None, "skew_max_s": None}
        return max(counted, key=lambda skew: skew["skew_s"] or 0.0, default=uncounted)

    def clock(self) -> tuple[float, float]:
        """Cost and resolution of the clock that stamps the samples, in seconds."""
        cost, resolution = self._core.ffi.new("double *"), self._core.ffi.new("double *")
        self._core.check(self._core.lib.ws_program_clock(self._handle, cost, resolution))
        return cost[0], resolution[0]

    def described(self) -> dict[str, Any]:
        """The transport's choices for this program."""
        return self._core.described(self._core.lib.ws_program_describe(self._handle))

    def _compile(self, steps: list[Step]) -> ProgramHandle:
        flat = native_transfers(steps)
        lib = self._core.lib
        transfers = self._core.ffi.new("ws_transfer[]", flat)
        work = self._work(steps)
        barriers = self._context.pattern.timing.barrier
        flags = IN_PLACE * self._in_place | BARRIER_PER_SAMPLE * barriers
        flags |= ALONE * self._alone

        collective = next((step.collective for step in steps if step.collective), None)

        def compile_it() -> ProgramHandle:
            if collective:
                given = self._core.ffi.new("ws_collective *", packed_collective(collective))
                program = lib.ws_collective_open(self._transport, self.buffers, given, flags)
            else:
                program = lib.ws_program_open(
                    self._transport, self.buffers, transfers, len(flat), work.structs(), len(work), flags
                )
            return self._core.check(program)

        return self._context.collectively(compile_it, lib.ws_program_close)

    def _work(self, steps: list[Step]) -> WorkList:
        found = WorkList(self._core)
        for number, step in enumerate(steps):
            for when, all_work in enumerate((step.after, step.meanwhile, step.gated)):
                for work in all_work:
                    found.add(number, when, work)
        return found


def work_alone(context: RankContext, size: int) -> list[Step]:
    """The pattern's steps without their transfers."""
    steps = context.pattern.steps(context.comm.rank, size)
    return [replace(step, sends=(), receives=()) for step in steps]


def native_transfers(steps: Sequence[Step]) -> list[tuple[int, ...]]:
    """The steps' transfers as the core takes them (ws_transfer), lists block by block."""
    flat: list[tuple[int, ...]] = []
    lists = 0
    for number, step in enumerate(steps):
        for receives, transfers in ((0, step.sends), (1, step.receives)):
            for transfer in transfers:
                lists += transfer.blocks is not None
                of_list = lists if transfer.blocks else 0
                for part in transfer.parts:
                    place = part.peer, part.back, part.offset, part.bytes, part.remote_offset
                    flat.append((number, receives, *place, of_list))
    return flat


def _of_a_load(step: Step) -> Step:
    """What one load moves, where the step names the whole chain."""
    from wirespeed.patterns import rma

    def word(transfers: tuple[Transfer, ...]) -> tuple[Transfer, ...]:
        return tuple(replace(transfer, bytes=rma.WORD) for transfer in transfers)

    return Step(word(step.sends), word(step.receives))


def shifted(step: Step, shift: int) -> Step:
    """The step as it lies in the buffers: tests move it off its alignment."""
    if not shift:
        return step

    def moved(transfers: tuple[Transfer, ...]) -> tuple[Transfer, ...]:
        return tuple(
            replace(t, offset=t.offset + shift, remote_offset=t.remote_offset + shift) for t in transfers
        )

    def placed(all_work: tuple[Work, ...]) -> tuple[Work, ...]:
        found = []
        for work in all_work:
            arguments = (Place(a.offset + shift) if isinstance(a, Place) else a for a in work.arguments)
            found.append(replace(work, arguments=tuple(arguments)))
        return tuple(found)

    after, meanwhile, gated = map(placed, (step.after, step.meanwhile, step.gated))
    return Step(moved(step.sends), moved(step.receives), after, meanwhile, gated, step.collective)
