"""Messages of one size from memory that the path has never seen, each checked, at offsets that few choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from statistics import median

from wirespeed.host.handles import BuffersHandle, TransportHandle
from wirespeed.job.records import Fresh
from wirespeed.paths import TransferPath
from wirespeed.rank.check.checks import check_of
from wirespeed.rank.check.payload_check import PayloadMismatch
from wirespeed.rank.check.soak_run import PLACES, apart
from wirespeed.rank.context import RankContext, Unusable, Wanted
from wirespeed.rank.faults.words import open_program
from wirespeed.rank.path.buffers import Buffers

OFFSETS = (0, 128, (4 << 10) + 8)
"""Bytes at which a message begins in its allocation, by turns: a cache that knows pages alone errs there."""


class FreshMemory:
    """Buffers that are freed and allocated again. All methods are collective."""

    def __init__(
        self,
        context: RankContext,
        path: TransferPath,
        transport: TransportHandle,
        alive: Callable[[int, int], None],
        what: str = "message",
    ) -> None:
        """`alive`: lets the watchdog wait for so many bytes of a size. `what`: each memory is used for."""
        self._context, self._path, self._transport = context, path, transport
        self._alive, self._what = alive, what
        self.where = ""
        """What is under way, in words."""

    @contextmanager
    def opened(
        self, size: int, number: int, of: int, *, soaked: bool = False
    ) -> Iterator[tuple[RankContext, BuffersHandle, int]]:
        """New buffers, their bytes, and the context of programs in them. Raises Unusable.

        `soaked`: with room for all messages of a soak.
        """
        offset = OFFSETS[number % len(OFFSETS)]
        self.where = f"{self._what} {number + 1} of {of} from new memory, {offset} B into it"
        context = replace(self._context, offset=self._context.offset + offset)
        buffers = Buffers(context, self._transport, self._path.memory, packs=self._path.packs)
        try:
            need = buffers.needed(size)
            need = PLACES * apart(need) if soaked else need
            self._alive(size, need)
            held = buffers.hold(need, [need], lambda _: None, size)
            yield replace(context, allocations=buffers.allocations), held, need
        except (PayloadMismatch, Unusable):
            buffers.close()
            raise
        except BaseException:
            # What fails on this rank alone must not wait for the others.
            buffers.abandon()
            raise
        buffers.close()


class FreshRun:
    """Checked messages, each from memory of its own. All methods are collective."""

    def __init__(
        self,
        context: RankContext,
        path: TransferPath,
        transport: TransportHandle,
        alive: Callable[[int, int], None],
    ) -> None:
        """`alive`: as of FreshMemory."""
        self._context, self._path, self._transport = context, path, transport
        self.memory = FreshMemory(replace(context, fresh=True), path, transport, alive)

    def run(self, size: int, messages: int) -> None:
        """Moves the bytes twice from each new memory, so often; rank 0 tells the times.

        Raises PayloadMismatch and Unusable.
        """
        seconds = []
        for number in range(messages):
            with self.memory.opened(size, number, messages) as (context, held, _):
                seconds.append(self._moved(context, held, size))
        divisor = self._context.pattern.figure(size).divisor
        cold, known = (median(times) / divisor for times in zip(*seconds, strict=True))
        record = Fresh(
            kind="fresh",
            pattern=self._context.pattern.name,
            path=self._path.name,
            memory=self._path.data,
            bytes=size,
            messages=messages,
            seconds=cold,
            known_s=known,
        )
        self._context.tell(record)

    def _moved(self, context: RankContext, held: BuffersHandle, size: int) -> tuple[float, float]:
        """Seconds of the slowest rank: of the first iteration, and of the next one."""
        check = check_of(context, self._path, held, size, lambda: None)
        with closing(open_program(context, Wanted(self._transport, held, size))) as program:
            first, second = (context.comm.maximum(check.checked_iteration(program)) for _ in range(2))
        return first, second
