"""A rank that has no others, for calls of the core in the test's own process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.host.core import core


class Alone:
    """A world of one rank, whose set-up traffic is counted and can be made to fail."""

    def __init__(self, kind: str = "emulated", allocator: str = "driver") -> None:
        self.core = core()
        self.calls: list[str] = []
        self.failing = False
        ffi, lib = self.core.ffi, self.core.lib
        self.user = ffi.new_handle(self)

        def told(user: Any, name: str) -> int:
            assert ffi.from_handle(user) is self
            self.calls.append(name)
            return -1 if self.failing else 0

        @ffi.callback("int(void *, const void *, void *, uint64_t)", error=-1)  # type: ignore[untyped-decorator]
        def allgather(user: Any, mine: Any, every: Any, each: int) -> int:
            ffi.memmove(every, mine, each)
            return told(user, "allgather")

        @ffi.callback("int(void *, void *, uint64_t, int)", error=-1)  # type: ignore[untyped-decorator]
        def broadcast(user: Any, data: Any, size: int, root: int) -> int:
            return told(user, "broadcast")

        @ffi.callback("int(void *)", error=-1)  # type: ignore[untyped-decorator]
        def barrier(user: Any) -> int:
            return told(user, "barrier")

        self._kept = (allgather, broadcast, barrier)
        self.control = ffi.new("ws_control *", [0, 1, self.user, allgather, broadcast, barrier])
        self.page = self.core.check(lib.ws_page_open(b"", 0))
        self.device = self.core.open_device(kind, 0, allocator)

    def transport(self, name: str, options: str = "") -> Any:
        lib = self.core.lib
        opened = lib.ws_transport_open(name.encode(), options.encode(), self.control, self.device, self.page)
        return self.core.check(opened)

    def buffers(self, transport: Any, size: int = 1 << 16, memory: str = "device") -> Any:
        return self.core.check(self.core.lib.ws_buffers_open(transport, memory.encode(), size))

    def program(
        self, transport: Any, buffers: Any, transfers: Sequence[tuple[int, ...]], in_place: bool = False
    ) -> Any:
        flat = self.core.ffi.new("ws_transfer[]", transfers)
        opened = self.core.lib.ws_program_open(
            transport, buffers, flat, len(transfers), self.core.ffi.NULL, 0, int(in_place)
        )
        return self.core.check(opened)
