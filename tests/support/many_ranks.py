"""What each of several ranks executes: mpiexec -n 4 python many_ranks.py TRANSPORT OPTIONS DEVICE.

A round that no ping-pong has: all to all at once, several messages to one peer, messages of no bytes, and a
step that some ranks take no part in. Every byte is checked, over runs of several rounds and samples.
"""

from __future__ import annotations

import os
import sys

from wirespeed import launchers
from wirespeed.host.core import core
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.patterns import Step, Transfer
from wirespeed.rank.check.payload_check import PayloadCheck
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.startup import open_device
from wirespeed.rank.observe.watchdog import Watchdog

LARGE, SMALL = 200_001, 1_000
SAMPLES = 3


def steps_of(rank: int, ranks: int) -> list[Step]:
    """Offsets differ for each pair of ranks, so that no message covers another."""
    others = [other for other in range(ranks) if other != rank]
    following, before = (rank + 1) % ranks, (rank - 1) % ranks
    all_to_all = Step(
        sends=tuple(Transfer(other, LARGE, other * LARGE, rank * LARGE) for other in others),
        receives=tuple(Transfer(other, LARGE, other * LARGE, rank * LARGE) for other in others),
    )
    base = ranks * LARGE
    places = [(base + i * SMALL, SMALL - i) for i in range(3)]
    window = Step(
        sends=tuple(Transfer(following, size, offset, offset) for offset, size in places),
        receives=tuple(Transfer(before, size, offset, offset) for offset, size in places),
    )
    nothing = Step(sends=(Transfer(following, 0),), receives=(Transfer(before, 0),))
    last = base + 3 * SMALL
    some = {
        0: Step(sends=(Transfer(1, SMALL, last, last),)),
        1: Step(receives=(Transfer(0, SMALL, last, last),)),
    }
    return [all_to_all, nothing, window, some.get(rank, Step())]


def main() -> None:
    transport_name, options, kind = sys.argv[1:]
    opened = core()
    lib, ffi = opened.lib, opened.ffi
    watched = Watchdog(opened, f"test-{os.getppid()}", launchers.global_rank(), reports=-1, give_up=True)
    watched.stage("test", 0, 60.0)
    device = open_device(opened, kind, Plan(), launchers.global_rank(), launchers.local_rank())
    world = MpiWorld(ExpectedJob(library=os.environ["MPI4PY_LIBMPI"]))
    world.open_mpi(opened)
    transport = opened.check(
        lib.ws_transport_open(
            transport_name.encode(), options.encode(), world.control(opened), device, watched.page
        )
    )
    steps = steps_of(world.rank, world.size)
    buffers = opened.check(lib.ws_buffers_open(transport, b"device", (world.size + 1) * LARGE))
    flat = [
        (number, receives, part.peer, 0, part.offset, part.bytes)
        for number, step in enumerate(steps)
        for receives, parts in ((0, step.sends), (1, step.receives))
        for part in parts
    ]
    transfers = ffi.new("ws_transfer[]", flat)
    program = opened.check(lib.ws_program_open(transport, buffers, transfers, len(flat), ffi.NULL, 0, 0))
    payload = PayloadCheck(opened, world, device, "device")
    seconds = ffi.new("double[]", SAMPLES)
    clocks = ffi.new("ws_batch_clocks *")
    for untimed, iterations in ((0, 1), (3, 2), (1, 30)):
        payload.prepare(steps, buffers, LARGE)
        world.barrier()
        opened.check(lib.ws_program_sample(program, untimed, iterations, SAMPLES, seconds, clocks))
        wrong = payload.verify(steps, buffers, LARGE)
        assert wrong is None, wrong
        assert all(value > 0 for value in ffi.unpack(seconds, SAMPLES))
    found = opened.described(lib.ws_program_describe(program))
    lib.ws_program_close(program)
    lib.ws_buffers_close(buffers)
    lib.ws_transport_close(transport)
    if world.rank == 0:
        print(f"{payload.bytes} bytes checked, {found}")
    watched.close()
    world.leave()


if __name__ == "__main__":
    main()
