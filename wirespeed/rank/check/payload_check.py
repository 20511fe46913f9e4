"""The payload check: content that depends on sender, place, size and turn, into poisoned buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wirespeed.host.core import Core
from wirespeed.host.handles import BuffersHandle, DeviceHandle
from wirespeed.job.records import Checked
from wirespeed.patterns import Step, Sums, Transfer
from wirespeed.patterns.block_list import Blocks
from wirespeed.rank.check.guards import GuardedBuffer, Guards, Span
from wirespeed.rank.program import Program
from wirespeed.rank.world import World

_MASK = (1 << 64) - 1
POISON = 0x80
"""Flips one bit of the content's tag: a poisoned buffer differs from the content in every byte."""
Alive = Callable[[], None]
"""Is called now and then, as a sign that this rank makes progress."""


@dataclass(frozen=True)
class Wrong:
    """A byte that did not arrive as it was sent."""

    rank: int
    sender: int
    offset: int
    bytes: int
    when: str
    """"in checked iteration 3"."""
    summed: bool = False
    part: str = ""
    """The block of a list that the byte is of, or that it is of none."""

    def __str__(self) -> str:
        if self.part:
            return f"wrong data from rank {self.sender} to rank {self.rank}: {self.part} {self.when}"
        if self.summed:
            return (
                f"wrong sum: double {self.offset // 8} of {self.bytes // 8} on rank {self.rank} is not what "
                f"the closed form gives, {self.when}"
            )
        return (
            f"wrong data: byte {self.offset} of {self.bytes} from rank {self.sender} to rank {self.rank} "
            f"differs {self.when}"
        )


def seed(sender: int, size: int, place: int = 0) -> int:
    """The content's seed (splitmix64) for what `sender` has at `place` of its send buffer.

    So a message that lands where another one of the same sender belongs is found out, too.
    """
    word = (sender * 0x9E3779B97F4A7C15 + size * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & _MASK
    word = (word + place * 0xD6E8FEB86659FD93) & _MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


@dataclass(frozen=True)
class WrongData:
    """A difference, in the words of its check."""

    rank: int
    text: str

    def __str__(self) -> str:
        return self.text


class Mismatch(Protocol):
    """Difference in one line, and its rank."""

    @property
    def rank(self) -> int: ...


class Check(ABC):
    """Runs checked iterations, checks batches, and counts what it has compared."""

    iterations = 0
    """Untimed ones, each alone."""
    batches = 0
    bytes = 0
    takes_batches = True
    """Is it known what a batch of many iterations must leave?"""

    @abstractmethod
    def checked_iteration(self, program: Program) -> float:
        """Collective. Seconds of one iteration. Raises PayloadMismatch on every rank."""

    @abstractmethod
    def begin_batch(self, program: Program) -> None:
        """Collective. New content, and poison where something will arrive, on every rank."""

    @abstractmethod
    def end_batch(self, program: Program, iterations: int) -> None:
        """Collective. Compares what so many iterations have left. Raises PayloadMismatch on every rank."""

    def restart(self) -> None:  # noqa: B027 - most have nothing to make anew
        """Makes the content anew, on this rank alone, where iterations go on from it."""

    def told(self) -> Checked:
        """Further members of the record of what was checked."""
        return {}


def after_batch(iterations: int) -> str:
    """When something was found to be wrong, in words."""
    return f"after a batch of {iterations} iterations"


class PayloadMismatch(Exception):
    """Some rank received wrong bytes; raised on every rank."""

    what = "mismatch"

    def __init__(self, wrong: Mismatch) -> None:
        super().__init__(str(wrong))
        self.rank = wrong.rank


class PayloadCheck(Check):
    """Lets programs move new content, and compares every byte that arrives, and those around messages."""

    def __init__(self, core: Core, comm: World, device: DeviceHandle, memory: str, into: str = "") -> None:
        """`memory`: where the send buffer lies; `into`: where the receive buffer does, if elsewhere."""
        self._core, self._comm, self._device = core, comm, device
        self._from, self._into = memory.encode(), (into or memory).encode()
        self._guards = Guards(core, device)
        self._turn = 0
        """Counts contents: each is new."""

    def checked_iteration(self, program: Program) -> float:
        self.begin_batch(program)
        seconds = program.run()
        self._compare(program, 1, f"in checked iteration {self.iterations}")
        self.iterations += 1
        return seconds

    def begin_batch(self, program: Program) -> None:
        sums = program.sums_after(1)
        self.guard(program.steps, program.buffers, sums)
        if sums:
            self._prepare_sums(sums, program.buffers)
        else:
            self.prepare(program.steps, program.buffers, program.size)
        self._comm.barrier()

    def end_batch(self, program: Program, iterations: int) -> None:
        self._compare(program, iterations, after_batch(iterations))
        self.batches += 1

    def _compare(self, program: Program, iterations: int, when: str) -> None:
        if sums := program.sums_after(iterations):
            wrong: Mismatch | None = self._verify_sums(sums, program.buffers, when)
        else:
            wrong = self.verify(program.steps, program.buffers, program.size, when)
        self._turn += 1
        if found := self._comm.first(wrong or self.stray(when)):
            raise PayloadMismatch(found[1])

    def guard(self, steps: Sequence[Step], buffers: BuffersHandle, sums: Sums | None = None) -> None:
        """Poisons what lies around messages. `sums`: one buffer is sent from and received into."""
        used: dict[bool, list[Span]] = {True: [], False: []}
        arrives = {True} if sums else set[bool]()
        rank = self._comm.rank
        for step in steps:
            for sent, transfers in ((True, step.sends), (False, step.receives)):
                for transfer in transfers:
                    in_send_buffer = sums is not None or sent != transfer.back
                    way = (rank, transfer.peer) if sent else (transfer.peer, rank)
                    # One of no bytes may be sent as one.
                    whole = transfer.blocks.spans if transfer.blocks else ((0, max(transfer.bytes, 1)),)
                    name = "the message from rank {} to rank {}".format(*way)
                    for start, length in whole:
                        begin = transfer.offset + start
                        used[in_send_buffer].append(Span(begin, begin + length, name))
                    arrives |= set() if sent else {in_send_buffer}
        if sums:
            used[True].append(Span(sums.offset, sums.offset + sums.bytes, "the sums"))
        send, receive = self._addresses(buffers)
        places = {True: (self._from, send), False: (self._into, receive)}
        self._guards.poison(GuardedBuffer(*places[at], used[at]) for at in arrives if used[at])

    def stray(self, when: str) -> WrongData | None:
        """What this rank finds written around messages since guard()."""
        beside = self._guards.stray()
        return WrongData(self._comm.rank, f"wrong data: {beside}, {when}") if beside else None

    def prepare(self, steps: list[Step], buffers: BuffersHandle, size: int) -> None:
        """Fills what will be sent with new content, and poisons what will be received."""
        tag, rank = self._turn & 0xFF, self._comm.rank
        for step in steps:
            for send in step.sends:
                memory, at = self._place(send, buffers, sent=True)
                content = seed(rank, size, send.offset)
                if send.blocks:
                    self._on_pieces("fill", memory, at, send.blocks.whole, content, tag)
                else:
                    self._fill(memory, at, send.bytes, content, tag)
            for receive in step.receives:
                memory, at = self._place(receive, buffers, sent=False)
                content = seed(receive.peer, size, receive.remote_offset)
                if blocks := receive.blocks:
                    for pieces in (blocks.pieces, blocks.gaps):
                        self._on_pieces("fill", memory, at, pieces, content, tag ^ POISON)
                else:
                    self._fill(memory, at, receive.bytes, content, tag ^ POISON)

    def verify(self, steps: list[Step], buffers: BuffersHandle, size: int, when: str = "") -> Wrong | None:
        """Compares what this rank received since prepare()."""
        lib, first = self._core.lib, self._core.ffi.new("uint64_t *")
        tag = self._turn & 0xFF
        found = None
        for transfer in (receive for step in steps for receive in step.receives):
            content = seed(transfer.peer, size, transfer.remote_offset)
            memory, at = self._place(transfer, buffers, sent=False)
            self.bytes += transfer.bytes
            if transfer.blocks:
                found = found or self._verify_blocks(transfer, transfer.blocks, (memory, at), content, when)
                continue
            self._core.check(
                lib.ws_device_check(self._device, memory, at, transfer.bytes, content, tag, first)
            )
            if first[0] < transfer.bytes and found is None:
                found = Wrong(self._comm.rank, transfer.peer, int(first[0]), transfer.bytes, when)
        return found

    def _verify_blocks(
        self, transfer: Transfer, blocks: Blocks, where: tuple[bytes, Any], content: int, when: str
    ) -> Wrong | None:
        """Compares every block of a list with what its sender has, and all between them with the poison."""
        tag, first = self._turn & 0xFF, self._core.ffi.new("uint64_t *")
        for pieces, expected in ((blocks.pieces, tag), (blocks.gaps, tag ^ POISON)):
            self._on_pieces("check", *where, pieces, content, expected, first)
            if (place := int(first[0])) != _MASK:
                part = blocks.named(place) if expected == tag else blocks.stray(place)
                return Wrong(self._comm.rank, transfer.peer, place, transfer.bytes, when, part=part)
        return None

    def _on_pieces(
        self, what: str, memory: bytes, at: Any, pieces: array[int], content: int, tag: int, *result: Any
    ) -> None:
        """The core's fill or check of (place, place in the content, bytes) of a pool."""
        call = getattr(self._core.lib, f"ws_device_{what}_pieces")
        given = self._core.ffi.from_buffer("ws_piece[]", pieces)
        count = len(pieces) // 3
        self._core.check(call(self._device, memory, at, given, count, content, tag, *result))

    def _prepare_sums(self, sums: Sums, buffers: BuffersHandle) -> None:
        """Fills the numbers that iterations add to. One buffer is sent from and received into."""
        send, _ = self._addresses(buffers)
        at, start = send + sums.offset, sums.before + self._turn
        lib = self._core.lib
        self._core.check(lib.ws_device_fill_sums(self._device, self._from, at, sums.bytes, start))

    def _verify_sums(self, sums: Sums, buffers: BuffersHandle, when: str) -> Wrong | None:
        """Compares the numbers with the closed form."""
        send, _ = self._addresses(buffers)
        at, start = send + sums.offset, sums.after + self._turn
        lib, first = self._core.lib, self._core.ffi.new("uint64_t *")
        self._core.check(lib.ws_device_check_sums(self._device, self._from, at, sums.bytes, start, first))
        self.bytes += sums.bytes
        if first[0] >= sums.bytes // 8:
            return None
        rank = self._comm.rank
        return Wrong(rank, rank, int(first[0]) * 8, sums.bytes, when, summed=True)

    def _place(self, transfer: Transfer, buffers: BuffersHandle, *, sent: bool) -> tuple[bytes, Any]:
        """The memory, and the address, of what a transfer sends or receives."""
        send, receive = self._addresses(buffers)
        memory, start = (self._from, send) if sent != transfer.back else (self._into, receive)
        return memory, start + transfer.offset

    def _addresses(self, buffers: BuffersHandle) -> tuple[Any, Any]:
        """The send and the receive buffer's first byte."""
        lib, cast = self._core.lib, self._core.ffi.cast
        return cast("char *", lib.ws_buffers_send(buffers)), cast("char *", lib.ws_buffers_receive(buffers))

    def _fill(self, memory: bytes, at: Any, size: int, content: int, tag: int) -> None:
        self._core.check(self._core.lib.ws_device_fill(self._device, memory, at, size, content, tag))
