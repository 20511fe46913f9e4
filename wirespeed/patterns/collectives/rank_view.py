"""One rank's part of a collective operation: where its data lie, and the steps' parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wirespeed.patterns.steps import Place, Step, Work

TYPES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp64": 8, "int32": 4}
"""Bytes of an element, in the order of the core's numbers."""
REDUCTIONS = ("sum", "max", "min")
REDUCING = ("allreduce", "reducescatter", "reduce")
WHOLE = ("allreduce", "broadcast", "reduce")
"""Operations whose every rank has a buffer of all elements; the others divide it into a block for each."""
FIRST_OF_TWO = 3
"""The core's number of the operation that copies."""
MAX_BLOCKS = 528
"""Blocks of a kernel: enough for every GPU's memory."""
_THREADS = 256
_LINE = 256


def _lines(bytes_: int) -> int:
    return -(-bytes_ // _LINE) * _LINE


@dataclass(frozen=True)
class RankView:
    """A rank's view. `count`: elements of its buffer (WHOLE), else of a block."""

    operation: str
    rank: int
    ranks: int
    count: int
    type: str = "fp32"
    reduction: str = "sum"
    root: int = 0
    in_place: bool = False

    @property
    def element(self) -> int:
        return TYPES[self.type]

    @property
    def block(self) -> int:
        """Bytes of `count` elements."""
        return self.count * self.element

    @property
    def given_bytes(self) -> int:
        return self.block * (self.ranks if self.operation in ("reducescatter", "alltoall") else 1)

    @property
    def got_bytes(self) -> int:
        return self.block * (self.ranks if self.operation in ("allgather", "alltoall") else 1)

    @property
    def given(self) -> int:
        """Offset of this rank's own data."""
        return self.rank * self.block if self.in_place and self.operation == "allgather" else 0

    @property
    def got(self) -> int:
        """Offset of its results."""
        if self.in_place:
            return self.rank * self.block if self.operation == "reducescatter" else 0
        return _lines(self.given_bytes)

    @property
    def scratch(self) -> int:
        """Offset of free memory."""
        if self.in_place:
            return _lines(max(self.given_bytes, self.got_bytes))
        return self.got + _lines(self.got_bytes)

    @property
    def gets(self) -> bool:
        """Does this rank get a result?"""
        if self.operation == "broadcast":
            return self.rank != self.root
        return self.operation != "reduce" or self.rank == self.root

    def of(self, rank: int) -> RankView:
        """The same of another rank."""
        return replace(self, rank=rank % self.ranks)

    @property
    def _unit(self) -> int:
        """Elements that no border between two parts divides: a line of memory's, where there are enough."""
        return _LINE // self.element if self.block >= self.ranks * _LINE else 1

    def part(self, number: int) -> tuple[int, int]:
        """(offset, bytes) of one of `ranks` parts of a whole buffer, as even as whole elements allow.

        Large parts begin where kernels copy 16 bytes at a time.
        """
        number %= self.ranks
        units = -(-self.count // self._unit)
        first, last = (
            min(units * value // self.ranks * self._unit, self.count) * self.element
            for value in (number, number + 1)
        )
        return first, last - first

    def room(self, slot: int, bytes_: int | None = None) -> int:
        """A place for so many bytes of another rank; None: for a part or a block."""
        if bytes_ is None and self.operation in WHOLE:
            units = -(-self.count // self._unit)
            bytes_ = -(-units // self.ranks) * self._unit * self.element
        elif bytes_ is None:
            bytes_ = self.block
        return self.scratch + slot * _lines(bytes_)

    def combined(self, to: int, number: int, other: int, bytes_: int) -> Work:
        """The reduction of two places."""
        return self._work(to, number, other, bytes_, REDUCTIONS.index(self.reduction))

    def copied(self, to: int, origin: int, bytes_: int) -> Work:
        return self._work(to, origin, origin, bytes_, FIRST_OF_TWO)

    @property
    def idle(self) -> Work:
        """Nothing, where other ranks have work in the same step."""
        return self._work(0, 0, 0, 0, FIRST_OF_TWO)

    def own_block(self) -> tuple[Work, ...]:
        """The copy of a rank's own block, unless it is in place."""
        if self.in_place:
            return ()
        shift = self.rank * self.block
        origin = self.given + (shift if self.operation == "alltoall" else 0)
        return (self.copied(self.got + shift, origin, self.block),)

    def _work(self, to: int, number: int, other: int, bytes_: int, operation: int) -> Work:
        count = bytes_ // self.element
        blocks = max(1, min(-(-count // _THREADS), MAX_BLOCKS))
        kind = list(TYPES).index(self.type)
        places = (Place(to), Place(number), Place(other))
        return Work("ws_elements_combine", (*places, count, kind, operation), blocks, _THREADS)


def extent(steps: list[Step], view: RankView) -> int:
    """Bytes of the buffer that the steps use."""
    ends = [transfer.offset + transfer.bytes for step in steps for transfer in (*step.sends, *step.receives)]
    for step in steps:
        for work in (*step.after, *step.meanwhile):
            count = work.arguments[3]
            assert isinstance(count, int)
            ends += [
                argument.offset + count * view.element
                for argument in work.arguments
                if isinstance(argument, Place)
            ]
    return max([view.scratch, *ends])
