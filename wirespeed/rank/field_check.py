"""The check of a program: its field against a reference that each rank computes alone."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from wirespeed.patterns import Place, Work
from wirespeed.programs import Comparison, ProgramPattern, Scratch
from wirespeed.rank.context import RankContext
from wirespeed.rank.payload_check import PayloadMismatch
from wirespeed.rank.program import Program
from wirespeed.rank.work_list import packed

NORM_TOLERANCE = 1e-6
"""Relative: sums depend on their order, points of the field do not."""
_NONE = (1 << 64) - 1


@dataclass(frozen=True)
class WrongField:
    """What the program has made otherwise than the reference."""

    rank: int
    text: str

    def __str__(self) -> str:
        return self.text


class FieldCheck:
    """Runs untimed iterations of a program from a known field, and compares every bit of the result."""

    def __init__(self, context: RankContext, pattern: ProgramPattern, memory: str) -> None:
        self._context, self._core, self._comm = context, context.core, context.comm
        self._pattern, self._memory = pattern, memory.encode()
        self._own = self._scratch = 0
        self.iterations = 0
        self.bytes = 0

    def checked_iteration(self, program: Program) -> float:
        """Collective. Iterations from a new field: seconds of one. Raises PayloadMismatch on every rank."""
        pattern, shape, rank = self._pattern, self._context.shape, self._comm.rank
        self._own = self._address(self._core.lib.ws_buffers_send(program.buffers)) + self._context.offset
        self._scratch = self._address(self._core.lib.ws_buffers_receive(program.buffers))
        seed = self.iterations + 1
        self._launch(pattern.start(rank, shape, seed))
        self._comm.barrier()
        seconds = program.run(pattern.checked_iterations(shape))[0]
        self._launch(pattern.reference(rank, shape, seed))
        # Every rank takes part in the sums of the norm, whatever it has found before.
        wrong = [self._wrong_field(), self._wrong_norm()]
        self.iterations += pattern.checked_iterations(shape)
        if found := self._comm.first(next(filter(None, wrong), None)):
            raise PayloadMismatch(found[1])
        return seconds

    def _wrong_field(self) -> WrongField | None:
        shape, rank = self._context.shape, self._comm.rank
        for number, one in enumerate(self._pattern.comparisons(rank, shape)):
            self.bytes += one.rows * one.row_bytes
            first = self._first_difference(one)
            if first != _NONE:
                row, byte = divmod(4 * first, one.row_bytes)
                place = self._pattern.place(rank, shape, number, row, byte)
                return WrongField(
                    rank,
                    f"wrong data: {place}, on rank {rank}, is not what one rank alone computes, "
                    f"after checked iteration {self.iterations}",
                )
        return None

    def _first_difference(self, one: Comparison) -> int:
        """The number of the first word that differs."""
        verdict = self._pattern.verdict(self._comm.rank, self._context.shape)
        word = self._core.ffi.new("uint64_t *", _NONE)
        self._copy(self._pointer(verdict), word, 8)
        pitches = one.own_pitch // 4, one.reference_pitch // 4
        arguments = (one.own, pitches[0], one.reference, pitches[1], one.row_bytes // 4, one.rows, verdict)
        self._launch([Work("ws_fields_compare", arguments, 1024, 256)])
        self._copy(word, self._pointer(verdict), 8)
        return int(word[0])

    def _wrong_norm(self) -> WrongField | None:
        """Collective. Compares sums over all ranks with the sum of what the references have."""
        rank = self._comm.rank
        norms = self._pattern.norms(rank, self._context.shape)
        of_ranks = self._comm.everyone([self._number(one.reference) for one in norms])
        for one, parts in zip(norms, zip(*of_ranks, strict=True), strict=True):
            found, expected = self._number(one.own), math.fsum(parts)
            # A number that is none compares unequal, too.
            if not abs(found - expected) <= NORM_TOLERANCE * expected:
                return WrongField(
                    rank,
                    f"wrong data: the norm's sum over all ranks is {found:.9g} on rank {rank}, and "
                    f"{expected:.9g} by the reference, after checked iteration {self.iterations}",
                )
        return None

    def _number(self, place: Place) -> float:
        room = self._core.ffi.new("char[8]")
        self._copy(room, self._pointer(place), 8)
        return float(struct.unpack("<d", bytes(self._core.ffi.buffer(room)))[0])

    def _address(self, pointer: Any) -> int:
        return int(self._core.ffi.cast("uintptr_t", pointer))

    def _at(self, place: Place) -> int:
        return (self._scratch if isinstance(place, Scratch) else self._own) + place.offset

    def _pointer(self, place: Place) -> Any:
        return self._core.ffi.cast("void *", self._at(place))

    def _copy(self, to: Any, origin: Any, size: int) -> None:
        self._core.check(self._core.lib.ws_device_copy(self._context.device, to, origin, size))

    def _launch(self, all_work: Iterable[Work]) -> None:
        for work in all_work:
            given = [self._at(one) if isinstance(one, Place) else one for one in work.arguments]
            arguments = packed(self._core, given)
            self._core.check(
                self._core.lib.ws_device_launch(
                    self._context.device,
                    self._memory,
                    work.kernel.encode(),
                    work.blocks,
                    work.threads,
                    arguments,
                    len(given),
                )
            )
