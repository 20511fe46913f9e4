"""The payload check: content that depends on sender, place, size and iteration, into poisoned buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from wirespeed.host.core import Core
from wirespeed.patterns import Step, Sums, Transfer
from wirespeed.rank.program import Program
from wirespeed.rank.world import World

_MASK = (1 << 64) - 1
POISON = 0x80
"""Flips one bit of the iteration's tag: a poisoned buffer differs from the content in every byte."""


@dataclass(frozen=True)
class Wrong:
    """A byte that did not arrive as it was sent."""

    rank: int
    sender: int
    offset: int
    bytes: int
    iteration: int
    summed: bool = False

    def __str__(self) -> str:
        if self.summed:
            return (
                f"wrong sum: double {self.offset // 8} of {self.bytes // 8} on rank {self.rank} is not what "
                f"the closed form gives, in checked iteration {self.iteration}"
            )
        return (
            f"wrong data: byte {self.offset} of {self.bytes} from rank {self.sender} to rank {self.rank} "
            f"differs in checked iteration {self.iteration}"
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


class Found(Protocol):
    """What is wrong, in one line, and on which rank."""

    @property
    def rank(self) -> int: ...


class Check(Protocol):
    """Runs checked iterations, and counts what it has compared."""

    iterations: int
    bytes: int

    def checked_iteration(self, program: Program) -> float:
        """Collective. Seconds of one iteration. Raises PayloadMismatch on every rank."""


class PayloadMismatch(Exception):
    """Some rank received wrong bytes; raised on every rank."""

    what = "mismatch"

    def __init__(self, wrong: Found) -> None:
        super().__init__(str(wrong))
        self.rank = wrong.rank


class PayloadCheck:
    """Runs untimed iterations of programs and checks every byte that arrives."""

    def __init__(self, core: Core, comm: World, device: Any, memory: str, into: str = "") -> None:
        """`memory`: where the send buffer lies; `into`: where the receive buffer does, if elsewhere."""
        self._core, self._comm, self._device = core, comm, device
        self._from, self._into = memory.encode(), (into or memory).encode()
        self.iterations = 0
        self.bytes = 0

    def checked_iteration(self, program: Program) -> float:
        """Collective. One iteration with fresh content; its seconds. Raises PayloadMismatch on every rank."""
        buffers, sums = program.buffers, program.sums
        if sums:
            self.prepare_sums(sums, buffers)
        else:
            self.prepare(program.steps, buffers, program.size)
        self._comm.barrier()
        seconds = program.run(1)[0]
        wrong = self.verify_sums(sums, buffers) if sums else self.verify(program.steps, buffers, program.size)
        if found := self._comm.first(wrong):
            raise PayloadMismatch(found[1])
        return seconds

    def prepare(self, steps: list[Step], buffers: Any, size: int) -> None:
        """Fills what will be sent with the next iteration's content, and poisons what will be received."""
        tag, rank = self.iterations & 0xFF, self._comm.rank
        for step in steps:
            for one in step.sends:
                memory, at = self._place(one, buffers, sent=True)
                self._fill(memory, at, one.bytes, seed(rank, size, one.offset), tag)
            for one in step.receives:
                memory, at = self._place(one, buffers, sent=False)
                self._fill(memory, at, one.bytes, seed(one.peer, size, one.remote_offset), tag ^ POISON)

    def verify(self, steps: list[Step], buffers: Any, size: int) -> Wrong | None:
        """Checks what this rank received in the iteration that prepare() made ready."""
        lib, first = self._core.lib, self._core.ffi.new("uint64_t *")
        tag = self.iterations & 0xFF
        found = None
        for one in (one for step in steps for one in step.receives):
            content = seed(one.peer, size, one.remote_offset)
            memory, at = self._place(one, buffers, sent=False)
            self._core.check(lib.ws_device_check(self._device, memory, at, one.bytes, content, tag, first))
            if first[0] < one.bytes and found is None:
                found = Wrong(self._comm.rank, one.peer, int(first[0]), one.bytes, self.iterations)
            self.bytes += one.bytes
        self.iterations += 1
        return found

    def prepare_sums(self, sums: Sums, buffers: Any) -> None:
        """Fills the numbers that the iteration adds to. One buffer is sent from and received into."""
        send, _ = self._addresses(buffers)
        at, start = send + sums.offset, sums.before + self.iterations
        lib = self._core.lib
        self._core.check(lib.ws_device_fill_sums(self._device, self._from, at, sums.bytes, start))

    def verify_sums(self, sums: Sums, buffers: Any) -> Wrong | None:
        """Compares the numbers with the closed form."""
        send, _ = self._addresses(buffers)
        at, start = send + sums.offset, sums.after + self.iterations
        lib, first = self._core.lib, self._core.ffi.new("uint64_t *")
        self._core.check(lib.ws_device_check_sums(self._device, self._from, at, sums.bytes, start, first))
        self.bytes += sums.bytes
        self.iterations += 1
        if first[0] >= sums.bytes // 8:
            return None
        rank = self._comm.rank
        return Wrong(rank, rank, int(first[0]) * 8, sums.bytes, self.iterations - 1, summed=True)

    def _place(self, one: Transfer, buffers: Any, *, sent: bool) -> tuple[bytes, Any]:
        """The memory, and the address, of what a transfer sends or receives."""
        send, receive = self._addresses(buffers)
        memory, start = (self._from, send) if sent != one.back else (self._into, receive)
        return memory, start + one.offset

    def _addresses(self, buffers: Any) -> tuple[Any, Any]:
        """The send and the receive buffer's first byte."""
        lib, cast = self._core.lib, self._core.ffi.cast
        return cast("char *", lib.ws_buffers_send(buffers)), cast("char *", lib.ws_buffers_receive(buffers))

    def _fill(self, memory: bytes, at: Any, size: int, content: int, tag: int) -> None:
        self._core.check(self._core.lib.ws_device_fill(self._device, memory, at, size, content, tag))
