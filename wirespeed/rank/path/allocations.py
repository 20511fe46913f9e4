"""Lists of blocks that lie in several allocations: where each block is, here and at the peer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wirespeed.host.handles import BuffersHandle, TransportHandle
from wirespeed.patterns import Step, Transfer
from wirespeed.rank.check.soak_run import PLACES, apart
from wirespeed.rank.context import RankContext


@dataclass(frozen=True)
class ScatteredBuffers:
    """A send and a receive buffer of several allocations each."""

    handle: BuffersHandle
    begins: Sequence[tuple[Sequence[int], Sequence[int]]]
    """By rank: where each allocation begins in its send buffer, and in its receive buffer."""


@dataclass
class Allocations:
    """Those of one open transport. All methods but abandon() are collective."""

    context: RankContext
    transport: TransportHandle
    memory: str
    count: int
    """Allocations that a list lies in, at each end."""
    _held: dict[int, ScatteredBuffers] = field(default_factory=dict)
    """By size of a block."""

    def placed(self, steps: Sequence[Step], size: int) -> tuple[BuffersHandle, list[Step]]:
        """Buffers for these steps' lists, and the steps as they lie there. Raises Unusable.

        Precondition: all transfers are lists of one pool, the same on every rank but for who sends.
        """
        held = self._held.get(size) or self._open(steps, size)
        self._held[size] = held
        mine = held.begins[self.context.comm.rank]

        def moved(transfer: Transfer, *, sent: bool) -> Transfer:
            blocks, peers = transfer.blocks, held.begins[transfer.peer]
            assert blocks
            here, there = (mine[0], peers[1]) if sent else (mine[1], peers[0])
            remote = blocks.reversed().cuts(self.count), there
            return replace(transfer, blocks=blocks.scattered(blocks.cuts(self.count), here, remote))

        return held.handle, [
            replace(
                step,
                sends=tuple(moved(each, sent=True) for each in step.sends),
                receives=tuple(moved(each, sent=False) for each in step.receives),
            )
            for step in steps
        ]

    def between(self, steps: Sequence[Step]) -> int:
        """Bytes from one of a block's places in a soak to the next one."""
        return apart(max(self._lengths(steps)))

    def _lengths(self, steps: Sequence[Step]) -> list[int]:
        """Bytes of each allocation, as the longer of the two buffers needs them."""
        found = [0] * self.count
        for step in steps:
            for transfer in (*step.sends, *step.receives):
                assert transfer.blocks
                for number, (_, length) in enumerate(transfer.blocks.cuts(self.count)):
                    found[number] = max(found[number], transfer.offset + length)
        return found

    def _open(self, steps: Sequence[Step], size: int) -> ScatteredBuffers:
        core, lib, comm = self.context.core, self.context.core.lib, self.context.comm
        lengths = self._lengths(steps)
        if self.context.plan.soak:
            lengths = [PLACES * self.between(steps)] * self.count
        found = core.ffi.new("uint64_t[]", 2 * self.count)

        def opened() -> BuffersHandle:
            given = core.ffi.new("uint64_t[]", lengths)
            return core.check(
                lib.ws_buffers_open_parts(self.transport, self.memory.encode(), given, self.count, found)
            )

        handle = self.context.collectively(opened, lib.ws_buffers_abandon)
        places = list(found)
        return ScatteredBuffers(handle, comm.everyone((places[: self.count], places[self.count :])))

    def close(self) -> None:
        """Frees them."""
        while self._held:
            _, held = self._held.popitem()
            self.context.core.check(self.context.core.lib.ws_buffers_close(held.handle))

    def abandon(self) -> None:
        """Ends them on this rank alone: others may be gone."""
        while self._held:
            _, held = self._held.popitem()
            self.context.core.lib.ws_buffers_abandon(held.handle)
