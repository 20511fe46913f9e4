"""The payload check: content that depends on sender, place, size and round, into poisoned buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wirespeed.host.core import Core
from wirespeed.patterns import Step, Sums

if TYPE_CHECKING:
    from wirespeed.rank.communicator import World

_MASK = (1 << 64) - 1
POISON = 0x80
"""Flips one bit of the round's tag: a poisoned buffer differs from the content in every byte."""


@dataclass(frozen=True)
class Wrong:
    """A byte that did not arrive as it was sent."""

    rank: int
    sender: int
    offset: int
    bytes: int
    round: int
    summed: bool = False

    def __str__(self) -> str:
        if self.summed:
            return (
                f"wrong sum: double {self.offset // 8} of {self.bytes // 8} on rank {self.rank} is not what "
                f"the closed form gives, in checked round {self.round}"
            )
        return (
            f"wrong data: byte {self.offset} of {self.bytes} from rank {self.sender} to rank {self.rank} "
            f"differs in checked round {self.round}"
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


class Payload:
    """Runs untimed rounds of a program and checks every byte that arrives."""

    def __init__(self, core: Core, world: World, device: Any, memory: str, into: str = "") -> None:
        """`memory`: where the send buffer lies; `into`: where the receive buffer does, if elsewhere."""
        self._core, self._world, self._device = core, world, device
        self._from, self._into = memory.encode(), (into or memory).encode()
        self.rounds = 0
        self.bytes = 0

    def prepare(self, steps: list[Step], buffers: Any, size: int) -> None:
        """Fills what will be sent with the next round's content and poisons what will be received."""
        lib = self._core.lib
        send, receive = lib.ws_buffers_send(buffers), lib.ws_buffers_receive(buffers)
        tag = self.rounds & 0xFF
        for step in steps:
            for out in step.sends:
                self._fill(
                    self._from, send, out.offset, out.bytes, seed(self._world.rank, size, out.offset), tag
                )
            for into in step.receives:
                content = seed(into.peer, size, into.there)
                self._fill(self._into, receive, into.offset, into.bytes, content, tag ^ POISON)

    def verify(self, steps: list[Step], buffers: Any, size: int) -> Wrong | None:
        """Checks what this rank received in the round that prepare() made ready."""
        receive = self._core.lib.ws_buffers_receive(buffers)
        tag = self.rounds & 0xFF
        found = None
        for step in steps:
            for into in step.receives:
                content = seed(into.peer, size, into.there)
                wrong = self._check(receive, into.offset, into.bytes, content, tag)
                if wrong < into.bytes and found is None:
                    found = Wrong(self._world.rank, into.peer, wrong, into.bytes, self.rounds)
                self.bytes += into.bytes
        self.rounds += 1
        return found

    def prepare_sums(self, sums: Sums, buffers: Any, shift: int) -> None:
        """Fills the numbers that the round will add to. The buffer is sent from and received into."""
        lib = self._core.lib
        at = self._core.ffi.cast("char *", lib.ws_buffers_send(buffers)) + sums.offset + shift
        self._core.check(
            lib.ws_device_fill_sums(self._device, self._from, at, sums.bytes, sums.before + self.rounds)
        )

    def verify_sums(self, sums: Sums, buffers: Any, shift: int) -> Wrong | None:
        """Holds the numbers against the closed form."""
        lib, first = self._core.lib, self._core.ffi.new("uint64_t *")
        at = self._core.ffi.cast("char *", lib.ws_buffers_send(buffers)) + sums.offset + shift
        self._core.check(
            lib.ws_device_check_sums(
                self._device, self._from, at, sums.bytes, sums.after + self.rounds, first
            )
        )
        self.bytes += sums.bytes
        self.rounds += 1
        if first[0] >= sums.bytes // 8:
            return None
        return Wrong(
            self._world.rank, self._world.rank, int(first[0]) * 8, sums.bytes, self.rounds - 1, summed=True
        )

    def _fill(self, memory: bytes, base: Any, offset: int, size: int, content: int, tag: int) -> None:
        address = self._core.ffi.cast("char *", base) + offset
        lib = self._core.lib
        self._core.check(lib.ws_device_fill(self._device, memory, address, size, content, tag))

    def _check(self, base: Any, offset: int, size: int, content: int, tag: int) -> int:
        address = self._core.ffi.cast("char *", base) + offset
        first = self._core.ffi.new("uint64_t *")
        lib = self._core.lib
        self._core.check(lib.ws_device_check(self._device, self._into, address, size, content, tag, first))
        return int(first[0])
