"""The check of collective operations: every element on every rank against the exact result."""

from __future__ import annotations

from wirespeed.host.handles import BuffersHandle
from wirespeed.job.records import Checked
from wirespeed.patterns import Place, Work
from wirespeed.patterns.collectives.operation import (
    ITERATIONS_OF_BATCH,
    Content,
    ExpectedElements,
    as_operation,
)
from wirespeed.patterns.collectives.rank_view import REDUCTIONS, TYPES
from wirespeed.programs import Scratch
from wirespeed.rank.check.field_memory import FieldMemory
from wirespeed.rank.check.payload_check import Check, PayloadMismatch, WrongData, after_batch
from wirespeed.rank.context import RankContext
from wirespeed.rank.program import Program

_NONE = (1 << 64) - 1
_FOUND = Scratch(0)
"""Scratch in which a kernel leaves the first wrong element's number, and the count of wrong ones."""
_GRID = (528, 256)


class CollectiveCheck(Check):
    """Lets programs combine whole numbers, which is exact, and compares every element."""

    def __init__(self, context: RankContext, memory: str, buffers: BuffersHandle) -> None:
        self._pattern, self._comm = as_operation(context.pattern), context.comm
        self._memory = FieldMemory(context, memory, buffers)
        self._alone = self._pattern.content
        self._of_batches = self._pattern.batch_content
        self._turn = 0
        """Counts contents: each is new."""
        self.takes_batches = self._of_batches is not None

    def checked_iteration(self, program: Program) -> float:
        self._prepare(program, self._alone)
        seconds = program.run()
        self._compare(program, self._alone, 1, f"in checked iteration {self.iterations}")
        self.iterations += 1
        return seconds

    def begin_batch(self, program: Program) -> None:
        assert self._of_batches
        self._prepare(program, self._of_batches)

    def end_batch(self, program: Program, iterations: int) -> None:
        assert self._of_batches
        if iterations > ITERATIONS_OF_BATCH and self._pattern.accumulates:
            self.checked_iteration(program)
            return
        self._compare(program, self._of_batches, iterations, after_batch(iterations))
        self.batches += 1

    def told(self) -> Checked:
        # A wrong one has no figure.
        return {"wrong": 0}

    def _prepare(self, program: Program, content: Content) -> None:
        job = self._pattern.rank_view(self._comm.rank, program.size)
        kind = list(TYPES).index(job.type)
        self._memory.guard(self._pattern.extent(self._comm.rank, program.size))
        # Where nothing arrives lies -1, which is no rank's; what a rank gives comes after it.
        if job.gets:
            self._fill(job.got, job.got_bytes // job.element, kind, Content(0, content.odd))
        self._fill(job.given, job.given_bytes // job.element, kind, content)
        self._comm.barrier()

    def _compare(self, program: Program, content: Content, iterations: int, when: str) -> None:
        job = self._pattern.rank_view(self._comm.rank, program.size)
        kind = list(TYPES).index(job.type)
        wrong: list[str] = []
        count = 0
        for result in self._pattern.results(job, iterations):
            first, found = self._compared(result, content, kind, REDUCTIONS.index(job.reduction))
            self.bytes += result.count * job.element
            count += found
            if found:
                held = self._memory.read(Place(result.offset), job.element, first * job.element)
                wrong.append(f"the first is element {first} of {result.count}, with the bytes {held.hex()}")
        self._turn += 1
        self._raise_if(count, wrong, when)
        if stray := self._comm.first(self._memory.stray() or None):
            rank, beside = stray
            raise PayloadMismatch(WrongData(rank, f"wrong data on rank {rank}: {beside}, {when}"))

    def _raise_if(self, count: int, wrong: list[str], when: str) -> None:
        counts = self._comm.everyone(count)
        if wrong_ones := sum(counts):
            rank = next(number for number, item in enumerate(counts) if item)
            where = self._comm.share(wrong[0] if wrong else "", root=rank)
            elements = "1 element is" if wrong_ones == 1 else f"{wrong_ones} elements are"
            text = f"wrong data: {elements} not the exact result; on rank {rank} {where}, {when}"
            raise PayloadMismatch(WrongData(rank, text))

    def _fill(self, offset: int, count: int, kind: int, content: Content) -> None:
        if count:
            made_of = (self._turn, content.most, content.odd)
            given = (Place(offset), count, kind, 0, self._comm.rank, *made_of)
            self._memory.launch([Work("ws_elements_fill", given, *_GRID)])

    def _compared(
        self, expected: ExpectedElements, content: Content, kind: int, reduction: int
    ) -> tuple[int, int]:
        """The number of the first wrong element, and how many are wrong."""
        if not expected.count:
            return 0, 0
        self._memory.write(_FOUND, _NONE.to_bytes(8, "little") + bytes(8))
        where = (Place(expected.offset), expected.count, kind, reduction)
        wanted = (expected.first, expected.rank, expected.ranks, expected.own, expected.times)
        given = (*where, *wanted, self._turn, content.most, content.odd, _FOUND)
        self._memory.launch([Work("ws_elements_check", given, *_GRID)])
        found = self._memory.read(_FOUND, 16)
        return int.from_bytes(found[:8], "little"), int.from_bytes(found[8:], "little")
