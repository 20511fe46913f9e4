"""Guard bytes before and behind messages: what a path writes beyond a message is found there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from wirespeed.host.core import Core
from wirespeed.host.handles import DeviceHandle

GUARD = 4096
"""Bytes. Buffers have at least as many before and behind them (guard_bytes, native/devices/device.hpp)."""
_SEED = 0x9E3779B97F4A7C15


class Span(NamedTuple):
    """Bytes of a buffer that a path may write, or that are sent."""

    begin: int
    end: int
    name: str
    """'the message from rank 0 to rank 1'."""


class GuardedBuffer(NamedTuple):
    """A buffer's first byte, the kind of memory that it lies in, and what is used of it."""

    memory: bytes
    start: Any
    spans: list[Span]


def guards_of(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Place and number of the bytes that are in no span, and at most GUARD away from one."""
    found: list[tuple[int, int]] = []
    reached: int | None = None
    for span in sorted(spans):
        if reached is None:
            found.append((span.begin - GUARD, GUARD))
        elif span.begin - reached > 2 * GUARD:
            found += [(reached, GUARD), (span.begin - GUARD, GUARD)]
        elif span.begin > reached:
            found.append((reached, span.begin - reached))
        reached = max(span.end, reached or span.end)
    return found if reached is None else [*found, (reached, GUARD)]


class Guards:
    """The guard bytes of one rank: poisoned before bytes move, compared afterwards."""

    def __init__(self, core: Core, device: DeviceHandle) -> None:
        self._core, self._device = core, device
        self._buffers: list[GuardedBuffer] = []
        self._turn = 0

    def poison(self, buffers: Iterable[GuardedBuffer]) -> None:
        """Writes new bytes around the spans."""
        self._buffers = list(buffers)
        self._turn += 1
        for memory, start, spans in self._buffers:
            for at, size in guards_of(spans):
                content = _SEED, self._turn & 0xFF
                self._core.check(
                    self._core.lib.ws_device_fill(self._device, memory, start + at, size, *content)
                )

    def stray(self) -> str:
        """Where the first byte is that is no longer as poison() left it; '': there is none."""
        first = self._core.ffi.new("uint64_t *")
        for memory, start, spans in self._buffers:
            for at, size in guards_of(spans):
                given = self._device, memory, start + at, size, _SEED, self._turn & 0xFF, first
                self._core.check(self._core.lib.ws_device_check(*given))
                if first[0] < size:
                    return _beside(at + int(first[0]), spans)
        return ""


def _beside(place: int, spans: Iterable[Span]) -> str:
    """'something was written 5 bytes behind the message from rank 0 to rank 1'."""
    away, side, name = min(
        (span.begin - place, "before", span.name)
        if place < span.begin
        else (place - span.end + 1, "behind", span.name)
        for span in spans
    )
    return f"something was written {away} byte{'s' * (away > 1)} {side} {name}"
