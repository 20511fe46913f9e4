"""The two buffers that a rank sends from and receives into, as large as the sizes to come need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from wirespeed.host.core import Core
from wirespeed.host.handles import BuffersHandle, DeviceHandle, TransportHandle
from wirespeed.host.memory import room_for_buffers
from wirespeed.rank.context import RankContext, Unusable
from wirespeed.rank.world import World
from wirespeed.units import format_size

if TYPE_CHECKING:
    from wirespeed.rank.path.allocations import Allocations

SMALL = (1 << 20, 1 << 26)
"""Buffers are allocated in these steps, then for the largest size, so that small sizes do not wait long."""


class Buffers:
    """The buffers of one open transport. All methods but abandon() are collective."""

    def __init__(
        self, context: RankContext, transport: TransportHandle, memory: str, *, packs: bool = False
    ) -> None:
        """`packs`: the transport has memory beside them in which it packs lists of blocks."""
        count = int(context.shape.options.get("allocations") or 1)
        self.allocations: Allocations | None = None
        """Those that lists lie in; None: in these buffers."""
        if count > 1:
            from wirespeed.rank.path.allocations import Allocations

            self.allocations = Allocations(context, transport, memory, count)
        self._packs = packs
        self._context, self._transport, self._memory = context, transport, memory
        self._lib = context.core.lib
        self._handle: BuffersHandle | None = None
        self._capacity = -1

    def needed(self, size: int) -> int:
        """Bytes of each buffer for this message size, the same on all ranks."""
        comm = self._context.comm
        mine = self._context.pattern.extent(comm.rank, size)
        return int(comm.maximum(mine)) + self._context.offset

    def hold(
        self, needed: int, needs: Sequence[int], waits: Callable[[int], None], size: int = 0
    ) -> BuffersHandle:
        """The native buffers: room for `needed` bytes each, and for what follows where that can be had.

        `size`: the one that needs them. `waits` is told how many bytes are allocated before that begins.
        Raises Unusable.
        """
        if self._handle is None or needed > self._capacity:
            self.close()
            capacities = self._capacities(needed, needs, size)
            waits(capacities[0])
            self._handle, self._capacity = self._allocate(capacities)
        return self._handle

    def close(self) -> None:
        """Frees them."""
        if self.allocations:
            self.allocations.close()
        if handle := self._forget():
            self._context.core.check(self._lib.ws_buffers_close(handle))

    def abandon(self) -> None:
        """Ends them on this rank alone: others may be gone."""
        if self.allocations:
            self.allocations.abandon()
        if handle := self._forget():
            self._lib.ws_buffers_abandon(handle)

    def _forget(self) -> BuffersHandle | None:
        handle, self._handle, self._capacity = self._handle, None, -1
        return handle

    def _capacities(self, needed: int, needs: Sequence[int], size: int) -> list[int]:
        """What to try to allocate: room for what follows, else for this size alone. Raises Unusable."""
        limit = self._context.shape.memory
        share = 1 + self._packed(size) / max(self.needed(size), 1) + bool(self.allocations)
        if limit is not None and needed * share > limit:
            room = int((limit - self._context.offset) / share)
            fits = self._context.pattern.size_rule.that_fits(size, room)
            packing = f" and {_rounded(round(2 * needed * (share - 1)))} to pack blocks" if share > 1 else ""
            raise Unusable(
                f"each rank needs two buffers of {_rounded(needed)}{packing}, and there is free memory for "
                f"two of {format_size(limit >> 20 << 20)}" + (f": {fits}" if fits else "")
            )
        most = max(need for need in needs if limit is None or need * share <= limit)
        room = next((step for step in SMALL if needed <= step), most)
        return sorted({min(room, most), needed}, reverse=True)

    def _packed(self, size: int) -> int:
        """Bytes that packing takes for each of the two buffers, the most of all ranks."""
        context = self._context
        if not self._packs:
            return 0
        steps = context.pattern.steps(context.comm.rank, size)
        lists = [each.bytes for step in steps for each in (*step.sends, *step.receives) if each.blocks]
        return int(context.comm.maximum(sum(lists))) // 2

    def _allocate(self, capacities: Sequence[int]) -> tuple[BuffersHandle, int]:
        """Buffers of the first size that every rank could allocate. Raises Unusable."""
        *larger, least = capacities
        undo = self._lib.ws_buffers_abandon
        for capacity in larger:
            with suppress(Unusable):
                return self._context.collectively(partial(self._open, capacity), undo), capacity
        return self._context.collectively(partial(self._open, least), undo), least

    def _open(self, capacity: int) -> BuffersHandle:
        return self._context.core.check(
            self._lib.ws_buffers_open(self._transport, self._memory.encode(), max(capacity, 1))
        )


def _rounded(size: int) -> str:
    """Up to whole MiB, where it is no number that somebody wrote."""
    return format_size(size if size < 1 << 20 or size % (1 << 10) == 0 else -(-size >> 20) << 20)


def buffer_room(core: Core, comm: World, device: DeviceHandle, neighbours: int) -> int | None:
    """Bytes for each of a rank's two buffers, the least of all ranks; None if nobody knows.

    `neighbours`: ranks of this host, which share its memory.
    """
    identity = core.identity(device)
    emulated = identity["kind"] == "emulated"
    room = room_for_buffers(neighbours, int(identity.get("bytes") or 0), emulated=emulated)
    unknown = 1 << 62
    least = comm.minimum(unknown if room is None else room)
    return None if least == unknown else least
