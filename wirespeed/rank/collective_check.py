"""The check of collective operations: every element on every rank against the exact result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wirespeed.patterns import Place, Work
from wirespeed.patterns.collectives.operation import CollectivePattern, ExpectedElements
from wirespeed.patterns.collectives.rank_view import REDUCTIONS, TYPES
from wirespeed.programs import Scratch
from wirespeed.rank.context import RankContext
from wirespeed.rank.field_memory import FieldMemory
from wirespeed.rank.payload_check import PayloadMismatch
from wirespeed.rank.program import Program

_NONE = (1 << 64) - 1
_FOUND = Scratch(0)
"""Where a kernel leaves the first wrong element's number, and their count."""
_GRID = (528, 256)


@dataclass(frozen=True)
class WrongElements:
    """Elements that are not the exact result."""

    rank: int
    text: str

    def __str__(self) -> str:
        return self.text


class CollectiveCheck:
    """Runs untimed iterations on whole numbers whose combination is exact, and compares every element."""

    def __init__(self, context: RankContext, memory: str, buffers: Any) -> None:
        assert isinstance(context.pattern, CollectivePattern)
        self._pattern, self._comm, self._shape = context.pattern, context.comm, context.shape
        self._memory = FieldMemory(context, memory, buffers)
        self._content = self._pattern.content(self._shape)
        self.iterations = 0
        self.bytes = 0

    def checked_iteration(self, program: Program) -> float:
        """Collective. One iteration with new content; its seconds. Raises PayloadMismatch on every rank."""
        job = self._pattern.rank_view(self._comm.rank, self._shape, program.size)
        kind, elements = list(TYPES).index(job.type), job.given_bytes // job.element
        # Where nothing arrives lies -1, which is no rank's; what a rank gives comes after it.
        if job.gets:
            self._fill(job.got, job.got_bytes // job.element, kind, 0)
        self._fill(job.given, elements, kind, self._content.most)
        self._comm.barrier()
        seconds = program.run(1)[0]
        wrong: list[str] = []
        count = 0
        for one in self._pattern.results(job):
            first, found = self._compared(one, kind, REDUCTIONS.index(job.reduction))
            self.bytes += one.count * job.element
            count += found
            if found:
                held = self._memory.read(Place(one.offset), job.element, first * job.element)
                wrong.append(f"the first is element {first} of {one.count}, with the bytes {held.hex()}")
        self.iterations += 1
        self._raise_if(count, wrong)
        return seconds

    def _raise_if(self, count: int, wrong: list[str]) -> None:
        counts = self._comm.everyone(count)
        if wrong_ones := sum(counts):
            rank = next(number for number, one in enumerate(counts) if one)
            where = self._comm.share(wrong[0] if wrong else "", root=rank)
            elements = "1 element is" if wrong_ones == 1 else f"{wrong_ones} elements are"
            raise PayloadMismatch(
                WrongElements(
                    rank,
                    f"wrong data: {elements} not the exact result; on rank {rank} {where}, "
                    f"in checked iteration {self.iterations - 1}",
                )
            )

    def _fill(self, offset: int, count: int, kind: int, most: int) -> None:
        if count:
            given = (Place(offset), count, kind, 0, self._comm.rank, self.iterations, most, self._content.odd)
            self._memory.launch([Work("ws_elements_fill", given, *_GRID)])

    def _compared(self, one: ExpectedElements, kind: int, reduction: int) -> tuple[int, int]:
        """The number of the first wrong element, and how many are wrong."""
        if not one.count:
            return 0, 0
        self._memory.write(_FOUND, _NONE.to_bytes(8, "little") + bytes(8))
        content = (self.iterations, self._content.most, self._content.odd)
        given = (Place(one.offset), one.count, kind, reduction, one.first, one.rank, one.ranks, *content)
        self._memory.launch([Work("ws_elements_check", (*given, _FOUND), *_GRID)])
        found = self._memory.read(_FOUND, 16)
        return int.from_bytes(found[:8], "little"), int.from_bytes(found[8:], "little")
