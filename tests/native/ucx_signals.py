"""Puts of a rank alone over the UCX in argv[1], which is opened first: what it counted, as JSON."""

from __future__ import annotations

import ctypes
import json
import sys

from support.rank import Alone

from wirespeed.host.core import core


def puts(ucx: ctypes.CDLL, in_place: bool) -> list[int]:
    """Signals; those that overtook another; those before their bytes."""
    rank = Alone()
    lib = rank.lib
    transport = rank.transport("ucx", "call=put")
    buffers = rank.buffers(transport, memory="pageable")
    # (the step that sends, the one that receives, bytes)
    messages = [(0, 0, 24), (0, 0, 0), (0, 0, 100), (1, 1, 0), (1, 1, 0), (2, 2, 0), (3, 3, 40), (4, 4, 0)]
    if not in_place:  # where a sender would wait for the later step
        messages += [(5, 7, 0), (6, 7, 0), (7, 7, 0)]
    transfers = [
        (step, into, 0, 200 * number + 4096 * into, size)
        for number, (*steps, size) in enumerate(messages)
        for into, step in enumerate(steps)
    ]
    transfers.sort(key=lambda transfer: transfer[:2])
    program = rank.program(transport, buffers, transfers, in_place)
    before = ucx.fake_ucx_signals(), ucx.fake_ucx_overtaken(), ucx.fake_ucx_signalled_early()
    rank.run(program, 5)
    after = ucx.fake_ucx_signals(), ucx.fake_ucx_overtaken(), ucx.fake_ucx_signalled_early()
    rank.close(transport, buffers, program)
    lib.ws_device_close(rank.device)
    return [late - early for early, late in zip(before, after, strict=True)]


def flushes_of_runs(ucx: ctypes.CDLL) -> list[int]:
    """Of a run of 1 and of 1000 iterations, with work."""
    rank = Alone()
    core, lib, check = rank.core, rank.core.lib, rank.core.check
    transport = rank.transport("ucx", "call=put")
    buffers = rank.buffers(transport, memory="pageable")
    rows = [(step, into, 0, 0, 4096 * into + 64 * step, 24, 0) for step in (0, 1) for into in (0, 1)]
    transfers, place = core.ffi.new("ws_transfer[]", rows), core.ffi.new("uint64_t[]", [0, 0, 0])
    name = core.ffi.new("char[]", b"ws_fields_damage")
    work = core.ffi.new("ws_work[]", [(step, 0, name, 1, 1, 3, 2, place) for step in (0, 1)])
    program = check(lib.ws_program_open(transport, buffers, transfers, len(rows), work, 2, 0))

    def flushes(iterations: int) -> int:
        before = int(ucx.fake_ucx_worker_flushes())
        rank.run(program, iterations)
        return int(ucx.fake_ucx_worker_flushes()) - before

    found = [flushes(1), flushes(1000)]
    rank.close(transport, buffers, program)
    lib.ws_device_close(rank.device)
    return found


def main() -> None:
    library, what, *in_place = sys.argv[1:]
    core().lib.ws_library_path(b"ucx", library.encode())
    ucx = ctypes.CDLL(library)
    print(json.dumps(puts(ucx, bool(in_place)) if what == "puts" else flushes_of_runs(ucx)))


if __name__ == "__main__":
    main()
