"""Ranks that use the core as no command does, of programs that tests start and of a test's own process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from wirespeed.host.core import Core, core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.rank.join.mpi_world import MpiWorld

Transfer = tuple[int, int, int, int, int]
"""(step, whether it receives, peer, offset, bytes)"""


class CoreRank:
    """A device and a page, which may be a file; what a rank's world gives is its `control`."""

    control: Any

    def __init__(self, opened: Core, kind: str, rank: int, page: str = "", allocator: str = "driver") -> None:
        self.core = opened
        self.lib, self.ffi, self.check = opened.lib, opened.ffi, opened.check
        self.device = opened.open_device(kind, rank % opened.device_count(kind), allocator)
        self.page = self.check(self.lib.ws_page_open(page.encode(), rank))

    def transport(self, name: str, options: str = "") -> Any:
        return self.check(
            self.lib.ws_transport_open(name.encode(), options.encode(), self.control, self.device, self.page)
        )

    def buffers(self, transport: Any, size: int = 1 << 16, memory: str = "device") -> Any:
        return self.check(self.lib.ws_buffers_open(transport, memory.encode(), size))

    def program(
        self,
        transport: Any,
        buffers: Any,
        transfers: Sequence[Transfer],
        in_place: bool = False,
        flags: int = 0,
    ) -> Any:
        flat = [(step, into, peer, 0, *place) for step, into, peer, *place in transfers]
        made = self.ffi.new("ws_transfer[]", flat)
        return self.check(
            self.lib.ws_program_open(
                transport, buffers, made, len(flat), self.ffi.NULL, 0, flags | int(in_place)
            )
        )

    def run(self, program: Any, rounds: int) -> None:
        self.check(self.lib.ws_program_run(program, rounds, self.ffi.new("double *")))

    def write(self, address: Any, content: bytes) -> None:
        origin = self.ffi.from_buffer(content)
        self.check(self.lib.ws_device_copy(self.device, address, origin, len(content)))

    def read(self, address: Any, size: int) -> bytes:
        found = bytearray(size)
        self.check(self.lib.ws_device_copy(self.device, self.ffi.from_buffer(found), address, size))
        return bytes(found)

    def close(self, transport: Any, buffers: Any, *programs: Any) -> None:
        for program in programs:
            self.lib.ws_program_close(program)
        self.check(self.lib.ws_buffers_close(buffers))
        self.check(self.lib.ws_transport_close(transport))


class Rank(CoreRank):
    """A process that a launcher of MPI has started."""

    def __init__(self, kind: str = "emulated", page: str = "", timeout: float = 0) -> None:
        die_with_parent()
        self.world = MpiWorld(ExpectedJob(library=os.environ.get("MPI4PY_LIBMPI")))
        self.world.open_mpi(core())
        super().__init__(core(), kind, self.world.rank, page)
        self.lib.ws_page_stage(self.page, b"test", 0, timeout)
        self.control = self.world.control(self.core)

    def leave(self, found: object) -> None:
        """Rank 0 prints this, as JSON."""
        if self.world.rank == 0:
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
        self.world.leave()


class Alone(CoreRank):
    """A world of one rank, whose set-up traffic is counted and can be made to fail."""

    def __init__(self, kind: str = "emulated", allocator: str = "driver") -> None:
        super().__init__(core(), kind, 0, allocator=allocator)
        self.calls: list[str] = []
        self.failing = False
        ffi = self.ffi
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
