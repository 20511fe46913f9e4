"""The programs of docs/sources.md beside ours: by turns, by the same launcher, on the same processors.

    .venv/bin/python bench/sources.py FOLDER --mpi mpich [--turns 3] [--steps 1000] [--only tester,ring]
        [--hosts true] [--ranks 2] [--behind 'chrt -r 1']

FOLDER has `ping_pong`, `Alltoall` and `omp_mpich`, built by g++ -O2 -fopenmp against that MPI in
.venv/mpi; `--steps` are those that omp_mpich was built with, and every size of ping_pong is measured here.
Printed: what a program reports, the median of the turns [smallest, largest], the same of ours, and the
ratio of the medians. `--hosts true` puts half of the ranks on another host (a network namespace; root).
`--ranks` is the most to start; `--behind` are words before each rank's program, for a busy machine.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from common import COMMAND, in_turn, parser
from support import hosts, mpis
from support.hosts import Hosts
from support.mpis import InstalledMpi

import wirespeed
from wirespeed.units import format_size

Times = Mapping[str, float]
"""Microseconds, by the name of the row."""
WARMUP, ROUNDS = 5, 20
TESTER = ((2, 1), (4, 2), (8, 4))
COUNTS = (2048, 262144)
"""Words of 4 bytes, as the tester counts them; ours have 32."""


class Job:
    """How both are started."""

    def __init__(
        self, mpi: InstalledMpi, programs: Path, folder: Path, there: Hosts | None, behind: str
    ) -> None:
        self.mpi, self.programs, self.there = mpi, programs, there
        self.behind = behind.split()
        self.result = folder / "result.jsonl"
        self.environment = {
            **mpi.environment(),
            **(there.environment if there else {}),
            "OMP_NUM_THREADS": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "WIRESPEED_WITHIN": "0",
        }

    def launcher(self, ranks: int) -> list[str]:
        if self.mpi.abi == "openmpi":
            each = ranks // 2
            where = ["--host", f"n1:{each},n2:{each}"] if self.there else ["--map-by", ":OVERSUBSCRIBE"]
            where += ["--bind-to", "none", "-x", "OMP_NUM_THREADS", "-x", "MPI4PY_LIBMPI"]
        else:
            where = ["-hosts", "n1,n2", "-ppn", str(ranks // 2)] if self.there else []
        return [str(self.mpi.mpiexec), *where, "-n", str(ranks)]

    def said(self, ranks: int, *words: str, ends: bool = True) -> str:
        """What it printed. `ends` is False for a program that leaves without MPI_Finalize."""
        shell = ("sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh")  # omp_mpich has its buffers on the stack
        command = [*self.launcher(ranks), *shell, *self.behind, *words]
        if self.there:
            command = list(self.there["n1"].enter(*command))
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=900, check=False
        )
        if done.returncode and ends:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def theirs(self, ranks: int, program: str, *words: object, ends: bool = True) -> str:
        return self.said(ranks, str(self.programs / program), *map(str, words), ends=ends)

    def ours(self, ranks: int, *words: object) -> wirespeed.Result:
        self.result.unlink(missing_ok=True)
        fixed = ("--device", "cpu", "--paths", "host", "--timeout", 300, "--out", self.result)
        self.said(ranks, COMMAND, *map(str, (*words, *fixed)))
        return wirespeed.load(self.result)


def tutorial(job: Job) -> Iterator[tuple[str, Callable[[], Times], Callable[[], Times]]]:
    """Time one way: the mean of 50 round trips, halved."""
    pattern = re.compile(r"Transfer size \(B\): +(\d+), Transfer Time \(s\): +([\d.]+)")
    sizes: list[str] = []

    def theirs() -> Times:
        found = pattern.findall(job.theirs(2, "ping_pong"))
        sizes[:] = [size for size, _ in found]
        return {format_size(int(size)): float(seconds) * 1e6 for size, seconds in found}

    def ours() -> Times:
        words = ("pingpong", "--sizes", ",".join(sizes), "--loops", 50, "--warmup", 5)
        return {format_size(one.bytes): one.seconds * 1e6 for one in job.ours(2, *words).entries}

    theirs()  # says which sizes it has
    yield "tutorial: time one way, us", theirs, ours


def tester(job: Job, most: int) -> Iterator[tuple[str, Callable[[], Times], Callable[[], Times]]]:
    """Time of a round: the median, from the tester's line for each round."""
    for ranks, group in (shape for shape in TESTER if shape[0] <= most):

        def theirs(ranks: int = ranks, group: int = group) -> Times:
            found = {}
            for count in COUNTS:
                said = job.theirs(ranks, "Alltoall", count, WARMUP, ROUNDS, group)
                rounds = [float(time) for time in re.findall(r"^time: (\S+)", said, re.MULTILINE)]
                assert len(rounds) == ROUNDS, said
                found[format_size(count * 4)] = statistics.median(rounds) * 1e6
            return found

        def ours(ranks: int = ranks, group: int = group) -> Times:
            found = {}
            for count in COUNTS:
                fixed = ("--count", count // 8, "--loops", ROUNDS, "--warmup", WARMUP)
                (entry,) = job.ours(ranks, "groups", "--group", group, *fixed).entries
                found[format_size(entry.bytes)] = entry.seconds * 1e6
            return found

        yield f"tester, p = {ranks}, g = {group}: median round, us", theirs, ours


def ring(job: Job, steps: int, most: int) -> Iterator[tuple[str, Callable[[], Times], Callable[[], Times]]]:
    """Time of a step: the slowest rank's total time / steps."""
    for ranks in (count for count in (2, 4) if count <= most):

        def theirs(ranks: int = ranks) -> Times:
            said = job.theirs(ranks, "omp_mpich", ends=False)
            times = [float(time) for time in re.findall(r"total_time=(\S+)", said)]
            assert times and "Error" not in said, (
                said
            )  # without MPI_Finalize, the first to leave ends the job
            return {"8000000 B": max(times) / steps * 1e6}

        def ours(ranks: int = ranks) -> Times:
            fixed = ("--steps", steps, "--sizes", 8_000_000, "--loops", 1, "--warmup", 0)
            (entry,) = job.ours(ranks, "ring", *fixed).entries
            return {"8000000 B": entry.seconds / steps * 1e6}

        yield f"ring, {ranks} ranks: a step, us", theirs, ours


def summary(values: list[float]) -> str:
    return f"{statistics.median(values):.4g} [{min(values):.4g}, {max(values):.4g}]"


@contextmanager
def place(wanted: bool, folder: Path) -> Iterator[Hosts | None]:
    if not wanted:
        yield None
        return
    with hosts.hosts(["n1", "n2"], folder) as there:
        yield there


def main() -> None:
    line = parser(
        __doc__, mpi="openmpi", turns=3, steps=1000, only="tutorial,tester,ring", hosts="", ranks=8, behind=""
    )
    line.add_argument("programs", type=Path)
    given = line.parse_args()
    mpi = mpis.find(given.mpi)
    if isinstance(mpi, str):
        sys.exit(mpi)
    with tempfile.TemporaryDirectory() as made, place(bool(given.hosts), Path(made)) as there:
        job = Job(mpi, given.programs.resolve(), Path(made), there, given.behind)
        sets = {
            "tutorial": tutorial(job),
            "tester": tester(job, given.ranks),
            "ring": ring(job, given.steps, given.ranks),
        }
        for name in given.only.split(","):
            for title, theirs, ours in sets[name]:
                mine, others = in_turn(given.turns, ours, theirs)
                where = "two hosts" if there else "one host"
                print(f"{title} ({mpi.name}, {where}, {given.turns} turns, {os.cpu_count()} CPUs)")
                for row in others[0]:
                    left, right = [one[row] for one in others], [one[row] for one in mine]
                    ratio = statistics.median(right) / statistics.median(left)
                    beside = f"theirs {summary(left):<30} ours {summary(right):<30}"
                    print(f"{row:>11}  {beside} ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
