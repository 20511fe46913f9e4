"""A phase's transfers compiled by the core: what all ranks run together, timed or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wirespeed.patterns import Place, Step, Sums, Transfer, Work
from wirespeed.patterns.collectives.operation import CollectivePattern
from wirespeed.patterns.rma import WORD
from wirespeed.programs import ProgramPattern
from wirespeed.rank.context import RankContext
from wirespeed.rank.faulty_steps import with_fault
from wirespeed.rank.work_list import WorkList, packed_collective

IN_PLACE, BARRIER_PER_SAMPLE, ALONE = 1, 2, 4
"""Flags of ws_program_open (native/wirespeed.h)."""


class Program:
    """One phase at one message size. It is opened and run by all ranks together, and closed by each alone."""

    def __init__(
        self,
        context: RankContext,
        transport: Any,
        buffers: Any,
        size: int,
        phase: int = 0,
        in_place: bool | None = None,
        steps: Sequence[Step] | None = None,
    ) -> None:
        """Collective. Raises Unusable on every rank where one cannot compile it.

        `in_place`: in one buffer; None: as the pattern has it. `steps`: instead of the pattern's, with
        transfers on every rank or on none.
        """
        pattern, rank = context.pattern, context.comm.rank
        self._context, self._core = context, context.core
        self._transport, self.buffers, self.size = transport, buffers, size
        self._in_place = pattern.in_place if in_place is None else in_place
        self._alone = steps is not None and not any(step.sends or step.receives for step in steps)
        if steps is None:
            steps = pattern.steps(rank, context.shape, size, phase)
            if context.fault and isinstance(pattern, ProgramPattern):
                steps = with_fault(steps, context.fault, pattern.aside(context.shape))
        self.steps = [_shifted(step, context.offset) for step in steps]
        self.traffic: Sequence[Step] = self.steps
        """Steps that move the bytes; for a library's collective operation those that move the least.

        Of loads, the word that is loaded, not the chain.
        """
        if isinstance(pattern, CollectivePattern) and any(step.collective for step in steps):
            self.traffic = pattern.least_traffic(rank, context.shape, size)
        if pattern.links(context.shape, size) is not None:
            self.traffic = [_of_a_load(step) for step in self.steps]
        sums = pattern.sums(rank, context.shape, size)
        self.sums: Sums | None = sums and replace(sums, offset=sums.offset + context.offset)
        """What an iteration must make of the buffer's doubles; None: it moves bytes unchanged."""
        by_core = not isinstance(pattern, ProgramPattern)
        self._arrived: tuple[int, int, int] | None = None
        """Bytes that a fault damages, and of one element; None: all that the last step receives."""
        if isinstance(pattern, CollectivePattern):
            view = pattern.rank_view(rank, context.shape, size)
            self._arrived = (view.got, view.got_bytes if view.gets else 0, view.element)
        with context.ranges("protocol"):
            self._handle = self._compile(self.steps, context.fault if by_core else None)

    def close(self) -> None:
        self._core.lib.ws_program_close(self._handle)

    def run(self, iterations: int, samples: int = 1, untimed: int = 0) -> list[float]:
        """Collective. Untimed iterations, then `samples` times `iterations`: seconds per iteration."""
        seconds = self._core.ffi.new("double[]", samples)
        self._core.check(self._core.lib.ws_program_run(self._handle, untimed, iterations, samples, seconds))
        return list(self._core.ffi.unpack(seconds, samples))

    def clock(self) -> tuple[float, float]:
        """Cost and resolution of the clock that stamps the samples, in seconds."""
        cost, resolution = self._core.ffi.new("double *"), self._core.ffi.new("double *")
        self._core.check(self._core.lib.ws_program_clock(self._handle, cost, resolution))
        return cost[0], resolution[0]

    def described(self) -> dict[str, Any]:
        """What the transport chose for this program."""
        return self._core.described(self._core.lib.ws_program_describe(self._handle))

    def _compile(self, steps: list[Step], fault: str | None = None) -> Any:
        flat = [
            (number, receives, one.peer, one.back, one.offset, one.bytes, one.remote_offset)
            for number, step in enumerate(steps)
            for receives, transfers in ((0, step.sends), (1, step.receives))
            for one in transfers
        ]
        lib = self._core.lib
        transfers = self._core.ffi.new("ws_transfer[]", flat)
        work = self._work(steps)
        barriers = self._context.pattern.barriers(self._context.shape)
        flags = IN_PLACE * self._in_place | BARRIER_PER_SAMPLE * barriers
        flags |= ALONE * self._alone

        collective = next((step.collective for step in steps if step.collective), None)

        def compile_it() -> Any:
            if collective:
                given = self._core.ffi.new("ws_collective *", packed_collective(collective))
                program = lib.ws_collective_open(self._transport, self.buffers, given, flags)
            else:
                program = lib.ws_program_open(
                    self._transport, self.buffers, transfers, len(flat), work.structs(), len(work), flags
                )
            return self._with_fault(self._core.check(program), fault)

        return self._context.collectively(compile_it, lib.ws_program_close)

    def _work(self, steps: list[Step]) -> WorkList:
        found = WorkList(self._core)
        for number, step in enumerate(steps):
            for when, all_work in enumerate((step.after, step.meanwhile, step.gated)):
                for one in all_work:
                    found.add(number, when, one)
        return found

    def _with_fault(self, handle: Any, fault: str | None) -> Any:
        if fault:
            lib, arrived = self._core.lib, self._arrived
            if arrived is None:
                self._core.check(lib.ws_program_inject_fault(handle, fault.encode()))
            else:
                self._core.check(lib.ws_program_inject_fault_at(handle, fault.encode(), *arrived))
        return handle


def work_alone(context: RankContext, size: int) -> list[Step]:
    """The pattern's steps without their transfers."""
    steps = context.pattern.steps(context.comm.rank, context.shape, size)
    return [replace(step, sends=(), receives=()) for step in steps]


def _of_a_load(step: Step) -> Step:
    """What one load moves, where the step names the whole chain."""

    def word(transfers: tuple[Transfer, ...]) -> tuple[Transfer, ...]:
        return tuple(replace(one, bytes=WORD) for one in transfers)

    return Step(word(step.sends), word(step.receives))


def _shifted(step: Step, shift: int) -> Step:
    """The step as it lies in the buffers: tests move it off its alignment."""
    if not shift:
        return step

    def moved(transfers: tuple[Transfer, ...]) -> tuple[Transfer, ...]:
        return tuple(
            replace(t, offset=t.offset + shift, remote_offset=t.remote_offset + shift) for t in transfers
        )

    def placed(work: tuple[Work, ...]) -> tuple[Work, ...]:
        return tuple(
            replace(
                one,
                arguments=tuple(
                    Place(a.offset + shift) if isinstance(a, Place) else a for a in one.arguments
                ),
            )
            for one in work
        )

    return Step(
        moved(step.sends),
        moved(step.receives),
        placed(step.after),
        placed(step.meanwhile),
        placed(step.gated),
        step.collective,
    )
