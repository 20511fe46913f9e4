"""A rank of a world whose every step has many peers: many_peers.py TRANSPORT OPTIONS LIBRARY SIZE.

No pattern of the package has such steps with transfers of all lengths; the content of each is its own.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from wirespeed.host.core import core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.launchers import global_rank
from wirespeed.rank.join.mpi_world import MpiWorld

# (step, sender, receiver, offset in both buffers, bytes)
Message = tuple[int, int, int, int, int]
LENGTHS = (0, 1, 4097, 70_001, 1 << 20, 333_333, 5)


def everybody(ranks: int) -> list[Message]:
    """All to all, itself included, twice to each; then round a ring; then all to rank 0."""
    messages: list[Message] = []
    place = 0

    def add(step: int, sender: int, receiver: int) -> None:
        nonlocal place
        size = LENGTHS[len(messages) % len(LENGTHS)]
        messages.append((step, sender, receiver, place, size))
        place += size + 3

    for _ in range(2):
        for sender in range(ranks):
            for receiver in range(ranks):
                add(0, sender, receiver)
    for sender in range(ranks):
        add(1, sender, (sender + 1) % ranks)
    for sender in range(1, ranks):
        add(2, sender, 0)
    return messages


def large(ranks: int) -> list[Message]:
    """Between neighbours in both directions at once, many times the ring's length."""
    size = (9 << 20) + 5
    pairs = [(rank, rank ^ 1) for rank in range(ranks) if rank ^ 1 < ranks]
    return [(0, sender, receiver, sender % 2 * size + 1, size) for sender, receiver in pairs]


class Rank:
    """One rank with its transport and buffers."""

    def __init__(self, transport: str, options: str, library: str, ranks: int) -> None:
        self.core, self.world = core(), MpiWorld(ExpectedJob(size=ranks, library=library))
        lib = self.core.lib
        check = self.core.check
        self.device = self.core.open_device("emulated", self.world.rank % 2)
        self.world.open_mpi(self.core)
        page = check(lib.ws_page_open(b"", self.world.rank))
        control = self.world.control(self.core)
        self.transport = check(
            lib.ws_transport_open(transport.encode(), options.encode(), control, self.device, page)
        )
        self.buffers = check(lib.ws_buffers_open(self.transport, b"device", 64 << 20))

    def program(self, messages: list[Message]) -> Any:
        me = self.world.rank
        flat = [(s, 0, receiver, 0, o, b) for s, sender, receiver, o, b in messages if sender == me]
        flat += [(s, 1, sender, 0, o, b) for s, sender, receiver, o, b in messages if receiver == me]
        flat.sort(key=lambda transfer: transfer[0])
        transfers = self.core.ffi.new("ws_transfer[]", flat)
        return self.core.check(
            self.core.lib.ws_program_open(
                self.transport, self.buffers, transfers, len(flat), self.core.ffi.NULL, 0, 0
            )
        )

    def rounds(self, program: Any, messages: list[Message], tag: int) -> None:
        """Three rounds with fresh content; every byte of the last one is checked."""
        lib, ffi, me = self.core.lib, self.core.ffi, self.world.rank
        send = ffi.cast("char *", lib.ws_buffers_send(self.buffers))
        receive = ffi.cast("char *", lib.ws_buffers_receive(self.buffers))
        for number, (_, sender, receiver, offset, size) in enumerate(messages):
            if sender == me:
                self._fill(send + offset, size, number, tag)
            if receiver == me:
                self._fill(receive + offset, size, number, tag ^ 0x80)
        self.world.barrier()
        self.core.check(lib.ws_program_run(program, 3, ffi.new("double *")))
        first = ffi.new("uint64_t *")
        for number, (step, sender, receiver, offset, size) in enumerate(messages):
            if receiver == me:
                self.core.check(
                    lib.ws_device_check(self.device, b"device", receive + offset, size, number, tag, first)
                )
                assert first[0] == size, f"step {step}, {sender} to {me}: byte {first[0]} of {size}"

    def _fill(self, address: Any, size: int, seed: int, tag: int) -> None:
        self.core.check(self.core.lib.ws_device_fill(self.device, b"device", address, size, seed, tag))


def main() -> None:
    transport, options, library, ranks = sys.argv[1:]
    die_with_parent()
    rank = Rank(transport, options, library, int(ranks))
    lib = rank.core.lib
    few, many = large(int(ranks)), everybody(int(ranks))
    # What the first program does not need must come with the second, and both go on.
    first = rank.program(few)
    rank.rounds(first, few, 1)
    second = rank.program(many)
    for tag in range(2, 5):
        rank.rounds(second, many, tag)
        rank.rounds(first, few, tag)
    details = rank.core.described(lib.ws_transport_describe(rank.transport))
    chosen = rank.core.described(lib.ws_program_describe(second))
    lib.ws_program_close(second)
    lib.ws_program_close(first)
    lib.ws_buffers_close(rank.buffers)
    lib.ws_transport_close(rank.transport)
    if global_rank() == 0:
        sys.stdout.write(json.dumps({**details, **chosen}) + "\n")
        sys.stdout.flush()
    rank.world.leave()


if __name__ == "__main__":
    main()
