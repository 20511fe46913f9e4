"""A rank that uses the core as no command does: what programs are made of that tests start by a launcher."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from wirespeed.host.core import core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.rank.join.mpi_world import MpiWorld

Transfer = tuple[int, bool, int, int, int]
"""(step, receives, peer, offset, bytes)"""


class Rank:
    """One rank with its device and its page, which may be a file."""

    def __init__(self, kind: str = "emulated", page: str = "", timeout: float = 0) -> None:
        die_with_parent()
        self.core = core()
        self.lib, self.ffi, self.check = self.core.lib, self.core.ffi, self.core.check
        self.world = MpiWorld(ExpectedJob(library=os.environ.get("MPI4PY_LIBMPI")))
        self.world.open_mpi(self.core)
        self.device = self.core.open_device(kind, self.world.rank % self.core.device_count(kind))
        self.page = self.check(self.lib.ws_page_open(page.encode(), self.world.rank))
        self.lib.ws_page_stage(self.page, b"test", 0, timeout)
        self._control = self.world.control(self.core)

    def transport(self, name: str, options: str = "") -> Any:
        return self.check(
            self.lib.ws_transport_open(name.encode(), options.encode(), self._control, self.device, self.page)
        )

    def buffers(self, transport: Any, size: int, memory: str = "device") -> Any:
        return self.check(self.lib.ws_buffers_open(transport, memory.encode(), size))

    def program(
        self, transport: Any, buffers: Any, transfers: Sequence[Transfer], in_place: bool = False
    ) -> Any:
        """Transfers of one step keep their order."""
        flat = [(step, into, peer, 0, *place) for step, into, peer, *place in transfers]
        flat.sort(key=lambda transfer: transfer[0])
        made = self.ffi.new("ws_transfer[]", flat)
        return self.check(
            self.lib.ws_program_open(transport, buffers, made, len(flat), self.ffi.NULL, 0, in_place)
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

    def leave(self, found: object) -> None:
        """Rank 0 prints this, as JSON."""
        if self.world.rank == 0:
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
        self.world.leave()
