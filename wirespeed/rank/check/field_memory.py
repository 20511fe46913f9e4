"""A program's two buffers on this rank: work on them outside its steps, and their bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from wirespeed.host.handles import BuffersHandle
from wirespeed.patterns import Place, Work
from wirespeed.programs import Scratch, Values
from wirespeed.rank.check.guards import GuardedBuffer, Guards, Span
from wirespeed.rank.context import RankContext
from wirespeed.rank.work_list import packed


class FieldMemory:
    """A Place lies in the program's own buffer, a Scratch in the checks' buffer."""

    def __init__(self, context: RankContext, memory: str, buffers: BuffersHandle) -> None:
        self._core, self._device, self._memory = context.core, context.device, memory.encode()
        first = self._core.ffi.cast("char *", self._core.lib.ws_buffers_send(buffers))
        self._offset, self._first = context.offset, first
        self._own = self._address(first) + context.offset
        self._guards = Guards(context.core, context.device)
        self._scratch = self._address(self._core.lib.ws_buffers_receive(buffers))

    def guard(self, used: int) -> None:
        """Poisons what lies around the program's own buffer, of which `used` bytes may be written."""
        span = Span(self._offset, self._offset + used, "the buffer of this rank")
        self._guards.poison([GuardedBuffer(self._memory, self._first, [span])])

    def stray(self) -> str:
        """What was written there since guard(), in words; '': nothing."""
        return self._guards.stray()

    def launch(self, all_work: Iterable[Work]) -> None:
        """Does it, and waits."""
        for work in all_work:
            given = [self._at(part) if isinstance(part, Place) else part for part in work.arguments]
            grid = work.kernel.encode(), work.blocks, work.threads
            arguments = packed(self._core, given), len(given)
            launched = self._core.lib.ws_device_launch(self._device, self._memory, *grid, *arguments)
            self._core.check(launched)

    def read(self, place: Place, size: int, further: int = 0) -> bytes:
        """`size` bytes that lie `further` behind the place."""
        room = self._core.ffi.new("char[]", size)
        self._copy(room, self._pointer(place, further), size)
        return bytes(self._core.ffi.buffer(room))

    def write(self, place: Place, data: bytes) -> None:
        self._copy(self._pointer(place), self._core.ffi.from_buffer(data), len(data))

    def copy(self, to: Place, origin: Place, size: int) -> None:
        """From one place to another one."""
        self._copy(self._pointer(to), self._pointer(origin), size)

    def number(self, place: Place) -> float:
        """The double that lies there."""
        return self.numbers(place, 1)[0]

    def numbers(self, place: Place, count: int) -> tuple[float, ...]:
        """The doubles that lie there."""
        return struct.unpack(f"<{count}d", self.read(place, 8 * count))

    def rows(self, values: Values, points: int, edges: Sequence[int]) -> Iterator[tuple[int, list[bytes]]]:
        """For each two edges in y: the first row, and each plane's rows of `points` numbers without gaps."""
        row = points * values.real
        for low, high in pairwise(edges):
            size = (high - low - 1) * values.pitch + row
            planes = [
                self.read(values.place, size, plane * values.plane + low * values.pitch)
                for plane in range(values.planes)
            ]
            if values.pitch != row:
                starts = range(0, size, values.pitch)
                planes = [b"".join(plane[at : at + row] for at in starts) for plane in planes]
            yield low, planes

    def _address(self, pointer: Any) -> int:
        return int(self._core.ffi.cast("uintptr_t", pointer))

    def _at(self, place: Place) -> int:
        return (self._scratch if isinstance(place, Scratch) else self._own) + place.offset

    def _pointer(self, place: Place, further: int = 0) -> Any:
        return self._core.ffi.cast("void *", self._at(place) + further)

    def _copy(self, to: Any, origin: Any, size: int) -> None:
        self._core.check(self._core.lib.ws_device_copy(self._device, to, origin, size))
