"""Messages of one size from memory that the path has never seen, each checked, at offsets that few choose."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from wirespeed.job.messages import Recorded
from wirespeed.paths import TransferPath
from wirespeed.rank.check.checks import check_of
from wirespeed.rank.check.payload_check import PayloadMismatch
from wirespeed.rank.context import RankContext, Unusable
from wirespeed.rank.path.buffers import Buffers
from wirespeed.rank.program import Program

if TYPE_CHECKING:
    from wirespeed.host.interface import TransportHandle

OFFSETS = (0, 128, (4 << 10) + 8)
"""Bytes at which a message begins in its allocation, by turns: a cache that knows pages alone errs there."""


class FreshRun:
    """All methods are collective."""

    def __init__(
        self,
        context: RankContext,
        path: TransferPath,
        transport: TransportHandle,
        alive: Callable[[int, int], None],
    ) -> None:
        """`alive`: lets the watchdog wait for so many bytes of a size."""
        self._context, self._path = replace(context, fault=context.fresh_fault), path
        self._transport, self._alive = transport, alive
        self.where = ""
        """Message under way, in words."""

    def run(self, size: int, messages: int) -> None:
        """Frees both buffers, allocates them and moves the bytes twice, so often; rank 0 tells the times.

        Raises PayloadMismatch and Unusable.
        """
        seconds: list[tuple[float, float]] = []
        for number in range(messages):
            offset = OFFSETS[number % len(OFFSETS)]
            self.where = f"message {number + 1} of {messages} from new memory, {offset} B into it"
            context = replace(self._context, offset=self._context.offset + offset)
            buffers = Buffers(context, self._transport, self._path.memory, packs=self._path.packs)
            try:
                seconds.append(self._moved(context, buffers, size))
            except (PayloadMismatch, Unusable):
                buffers.close()
                raise
            except BaseException:
                # What fails on this rank alone must not wait for the others.
                buffers.abandon()
                raise
            buffers.close()
        divisor = self._context.pattern.figure(self._context.shape, size).divisor
        cold, known = (median(times) / divisor for times in zip(*seconds, strict=True))
        record = {"pattern": self._context.pattern.name, "path": self._path.name, "memory": self._path.data}
        times = {"messages": messages, "seconds": cold, "known_s": known}
        self._context.tell(Recorded({"kind": "fresh", **record, "bytes": size, **times}))

    def _moved(self, context: RankContext, buffers: Buffers, size: int) -> tuple[float, float]:
        """Seconds of the slowest rank: of the first iteration, and of the next one."""
        need = buffers.needed(size)
        self._alive(size, need)
        held = buffers.hold(need, [need], lambda _: None, size)
        check = check_of(context, self._path, held, size, lambda: None)
        with closing(Program(context, self._transport, held, size)) as program:
            first, second = (context.comm.maximum(check.checked_iteration(program)) for _ in range(2))
        return first, second
