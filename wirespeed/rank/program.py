"""A phase's transfers compiled by the core: what all ranks run together, timed or not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wirespeed.patterns import Add, Step, Sums, Transfer
from wirespeed.rank.context import RankContext

IN_PLACE, BARRIER_PER_SAMPLE = 1, 2
"""Flags of ws_program_open (native/wirespeed.h)."""


class Program:
    """One phase at one message size. It is opened and run by all ranks together, and closed by each alone.

    Where the device adds between steps, it is a chain: a program for each distinct run of steps, and the
    device's work between them.
    """

    def __init__(
        self,
        context: RankContext,
        transport: Any,
        buffers: Any,
        size: int,
        phase: int,
        in_place: bool = False,
    ) -> None:
        """Collective. Raises Unusable on every rank where one cannot compile it."""
        pattern, rank = context.pattern, context.comm.rank
        self._context, self._core = context, context.core
        self._transport, self.buffers, self.size = transport, buffers, size
        self._in_place = in_place or pattern.in_place
        self.steps = [
            _shifted(step, context.offset) for step in pattern.steps(rank, context.shape, size, phase)
        ]
        sums = pattern.sums(rank, context.shape, size)
        self.sums: Sums | None = sums and replace(sums, offset=sums.offset + context.offset)
        """What an iteration must make of the buffer's doubles; None: it moves bytes unchanged."""
        self._handles: list[Any] = []
        """All that are open, in the order made: a chain comes after its links."""
        try:
            chained = any(step.adds for step in self.steps)
            self._handle = self._chain() if chained else self._compile(self.steps, context.fault)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self._handles:
            self._core.lib.ws_program_close(self._handles.pop())

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
            (number, receives, one.peer, 0, one.offset, one.bytes, one.remote_offset)
            for number, step in enumerate(steps)
            for receives, transfers in ((0, step.sends), (1, step.receives))
            for one in transfers
        ]
        lib = self._core.lib
        transfers = self._core.ffi.new("ws_transfer[]", flat)
        flags = IN_PLACE * self._in_place | BARRIER_PER_SAMPLE * self._context.pattern.barrier_per_sample

        def compile_it() -> Any:
            program = lib.ws_program_open(self._transport, self.buffers, transfers, len(flat), flags)
            return self._with_fault(self._core.check(program), fault)

        self._handles.append(self._context.collectively(compile_it, lib.ws_program_close))
        return self._handles[-1]

    def _chain(self) -> Any:
        compiled: dict[tuple[Step, ...], Any] = {}
        links: list[Any] = []
        adds: list[tuple[int, int, int, int, float]] = []
        segment: list[Step] = []
        for step in self.steps:
            segment.append(Step(step.sends, step.receives))
            if step.adds or step is self.steps[-1]:
                key = tuple(segment)
                if key not in compiled:
                    compiled[key] = self._compile(segment)
                adds += [(len(links), 0, add.offset, add.bytes, add.value) for add in step.adds]
                links.append(compiled[key])
                segment = []
        new, lib = self._core.ffi.new, self._core.lib
        chain = lib.ws_chain_open(new("ws_program *[]", links), len(links), new("ws_add[]", adds), len(adds))
        self._handles.append(self._core.check(chain))
        return self._with_fault(chain, self._context.fault)

    def _with_fault(self, handle: Any, fault: str | None) -> Any:
        if fault:
            self._core.check(self._core.test_lib.ws_program_inject_fault(handle, fault.encode()))
        return handle


def _shifted(step: Step, shift: int) -> Step:
    """The step as it lies in the buffers: tests move it off its alignment."""
    if not shift:
        return step

    def moved(transfers: tuple[Transfer, ...]) -> tuple[Transfer, ...]:
        return tuple(
            replace(t, offset=t.offset + shift, remote_offset=t.remote_offset + shift) for t in transfers
        )

    adds = tuple(Add(add.bytes, add.offset + shift, add.value) for add in step.adds)
    return Step(moved(step.sends), moved(step.receives), adds)
