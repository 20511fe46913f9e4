"""The check of a program: its field against a reference that each rank computes alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wirespeed.patterns import Work
from wirespeed.programs import Comparison, ProgramPattern
from wirespeed.rank.context import RankContext
from wirespeed.rank.field_memory import FieldMemory
from wirespeed.rank.payload_check import PayloadMismatch
from wirespeed.rank.program import Program

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

    def __init__(self, context: RankContext, pattern: ProgramPattern, memory: FieldMemory) -> None:
        self._context, self._comm, self._pattern, self._memory = context, context.comm, pattern, memory
        self.iterations = 0
        self.bytes = 0

    def checked_iteration(self, program: Program) -> float:
        """Collective. Iterations from a new field: seconds of one. Raises PayloadMismatch on every rank."""
        pattern, shape, rank = self._pattern, self._context.shape, self._comm.rank
        seed = self.iterations + 1
        self._memory.launch(pattern.start(rank, shape, seed))
        self._comm.barrier()
        seconds = program.run(pattern.checked_iterations(shape))[0]
        self._memory.launch(pattern.reference(rank, shape, seed))
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
        self._memory.write(verdict, _NONE.to_bytes(8, "little"))
        pitches = one.own_pitch // 4, one.reference_pitch // 4
        arguments = (one.own, pitches[0], one.reference, pitches[1], one.row_bytes // 4, one.rows, verdict)
        self._memory.launch([Work("ws_fields_compare", arguments, 1024, 256)])
        return int.from_bytes(self._memory.read(verdict, 8), "little")

    def _wrong_norm(self) -> WrongField | None:
        """Collective. Compares sums over all ranks with the sum of what the references have."""
        rank = self._comm.rank
        norms = self._pattern.norms(rank, self._context.shape)
        of_ranks = self._comm.everyone([self._memory.number(one.reference) for one in norms])
        for one, parts in zip(norms, zip(*of_ranks, strict=True), strict=True):
            found, expected = self._memory.number(one.own), math.fsum(parts)
            # A number that is none compares unequal, too.
            if not abs(found - expected) <= NORM_TOLERANCE * expected:
                return WrongField(
                    rank,
                    f"wrong data: the norm's sum over all ranks is {found:.9g} on rank {rank}, and "
                    f"{expected:.9g} by the reference, after checked iteration {self.iterations}",
                )
        return None
