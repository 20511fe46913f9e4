"""For tests: a program whose path is faulty, or one of whose ranks is late."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from wirespeed.host.handles import ProgramHandle, SoakHandle
from wirespeed.patterns import Step
from wirespeed.patterns.collectives.operation import as_operation
from wirespeed.programs import as_program
from wirespeed.rank.context import RankContext, Wanted
from wirespeed.rank.faults.steps import (
    BEYOND,
    MISPLACED,
    NATIVE_FAULTS,
    STRAY,
    WORD,
    misplaced,
    of_batches,
    stray_place,
    with_fault,
)
from wirespeed.rank.program import Batch, Program

_ANY_PLACE = (1 << 64) - 1


class FaultyProgram(Program):
    """Only a pattern's own steps have the fault, not those of what they are compared with."""

    def __init__(
        self,
        context: RankContext,
        wanted: Wanted,
        *,
        fault: str = "",
        late_s: float = 0.0,
        planted: tuple[Any, ...] = (),
    ) -> None:
        """`late_s`: by which rank 1 comes late to each timed batch. `planted`: as of Program.open_soak."""
        self._wanted = self._fault = fault if wanted.steps is None else ""
        self._late_s, self._planted, self.plants = late_s, planted, bool(planted)
        self._arrived: tuple[int, int, int] | None = None
        """Bytes that the fault damages, and of one element; None: all that the last step receives."""
        super().__init__(context, wanted)

    def _of_pattern(self, context: RankContext, phase: int) -> Sequence[Step]:
        steps = super()._of_pattern(context, phase)
        pattern, rank, fault = context.pattern, context.comm.rank, self._fault
        if pattern.kind.of_all_ranks:
            self._arrived = as_operation(pattern).arrival(rank, self.size)
        places = as_program(pattern).damage(rank) if fault and pattern.kind.program else None
        if fault and places and not fault.startswith((*NATIVE_FAULTS, BEYOND)):
            aside, computed = places
            steps = with_fault(steps, fault, aside, computed)
            if of_batches(fault):
                self._arrived = (aside + context.offset, WORD, 1)
            self._fault = "batch-word" if of_batches(fault) else ""
        return steps

    def _compile(self, steps: list[Step]) -> ProgramHandle:
        context, fault = self._context, self._fault
        if fault == MISPLACED:
            steps, fault = [misplaced(step) for step in steps], ""
        if fault.startswith(BEYOND):
            away = int(fault.removeprefix(BEYOND))
            used = context.pattern.extent(context.comm.rank, self.size)
            begin = context.offset + (used + away - 1 if away > 0 else away)
            self._arrived, fault = (begin & _ANY_PLACE, 1, 1), "batch-damaged"
        if fault == STRAY:
            place = stray_place(steps)
            self._arrived, fault = (place or 0, 1, 1), "" if place is None else "batch-damaged"
        handle = super()._compile(steps)
        if self._wanted:
            try:
                context.collectively(lambda: self._inject(handle, fault), lambda _: None)
            except BaseException:
                self._core.lib.ws_program_close(handle)
                raise
        return handle

    def _inject(self, handle: ProgramHandle, fault: str) -> None:
        lib, arrived = self._core.lib, self._arrived
        if fault and arrived is None:
            self._core.check(lib.ws_program_inject_fault(handle, fault.encode()))
        elif fault and arrived:
            self._core.check(lib.ws_program_inject_fault_at(handle, fault.encode(), *arrived))

    def open_soak(self, transfers: Sequence[tuple[int, ...]], apart: int, *planted: Any) -> SoakHandle:
        return super().open_soak(transfers, apart, *self._planted)

    def sample(self, iterations: int, samples: int, untimed: int = 1) -> Batch:
        if self._late_s and self._context.comm.rank == 1 and not self._alone:
            time.sleep(self._late_s)
        return super().sample(iterations, samples, untimed)
