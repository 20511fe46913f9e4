"""How long ranks take to start, and what importing them costs.

    .venv/bin/python bench/startup.py [--mpi PREFIX] [--ranks 2,16,64] [--repeats 3]

Started: from the launcher's start until rank 0 has heard of every rank. Bare: the whole of a job whose C
program initializes MPI, meets in a barrier and ends, started by the same command in turns with ours. Import:
wall time and resident memory of one rank's modules, without MPI. It needs mpi.h and a C compiler.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from common import compiled, in_turn, parser, ratios, said

from wirespeed import launchers, rank
from wirespeed.frontend.job_step import JobStep
from wirespeed.host import mpi
from wirespeed.job.messages import Hello
from wirespeed.job.plan import Plan, encode
from wirespeed.job.status_page import own_folder
from wirespeed.job.step_spec import ExpectedJob, StepSpec, startup_limit

ENTRY = Path(rank.__file__).parent
IMPORT = """
import time; start = time.perf_counter()
import wirespeed.rank.main, wirespeed.rank.path.path_run, wirespeed.rank.join.mpi_world
from wirespeed.host.core import core; core()
took = time.perf_counter() - start
pages = open('/proc/self/statm').read().split()[1]
print(took, int(pages) * 4096)
"""


def import_cost() -> tuple[float, float]:
    """Seconds and bytes; from a folder where the source tree is not in the way."""
    seconds, memory = map(float, said([sys.executable, "-c", IMPORT], cwd="/").split())
    return seconds, memory


def start(chosen: mpi.Mpi, ranks: int) -> tuple[float, float]:
    """Seconds until the ranks have met, and until the job is over."""
    plan = Plan(ranks=ranks)
    variables = chosen.environment()
    orders = StepSpec(
        plan, (), f"startup-{os.getpid()}-{time.monotonic_ns()}",
        ExpectedJob(chosen.vendor, chosen.version, ranks, str(chosen.library)), "host", variables,
    )  # fmt: skip
    job = launchers.Job((sys.executable, str(ENTRY), encode(orders)), ranks, (), variables)
    began = time.monotonic()
    command = launchers.choose("auto", chosen).command(chosen, job)
    step = JobStep(command, {**os.environ, **variables}, own_folder(orders.run), ranks, startup_limit(plan))
    met = 0.0
    for message in step.messages():
        if isinstance(message, Hello):
            met = time.monotonic() - began
    if step.outcome.what != "ok":
        raise SystemExit(f"{ranks} ranks: {step.outcome.text}")
    return met, time.monotonic() - began


def bare(chosen: mpi.Mpi, program: Path, ranks: int) -> float:
    """Seconds of a job that only starts and ends."""
    variables = chosen.environment()
    command = launchers.choose("auto", chosen).command(
        chosen, launchers.Job((str(program),), ranks, (), variables)
    )
    began = time.monotonic()
    said(command, env={**os.environ, **variables})
    return time.monotonic() - began


def main() -> None:
    given = parser(__doc__, mpi=None, ranks="2,16,64", repeats=3).parse_args()
    imports = [import_cost() for _ in range(5)]
    seconds = statistics.median(one[0] for one in imports)
    memory = statistics.median(one[1] for one in imports)
    print(f"import of a rank: {seconds:.3f} s, {memory / 2**20:.1f} MiB resident")
    chosen = mpi.choose(given.mpi)
    with tempfile.TemporaryDirectory() as folder:
        found = chosen.library
        path = f"-Wl,-rpath,{found.parent}"
        program = compiled("bare_start.c", Path(folder, "bare_start"), chosen.prefix, found, path)
        for ranks in map(int, given.ranks.split(",")):
            ours, theirs = in_turn(
                given.repeats, partial(start, chosen, ranks), partial(bare, chosen, program, ranks)
            )
            met, over = (statistics.median(column) for column in zip(*ours, strict=True))
            each = ratios([one for _, one in ours], theirs)
            print(
                f"{chosen.title}: {ranks:3d} ranks on {os.cpu_count()} CPUs: started in {met:.2f} s, over in "
                f"{over:.2f} s; bare {statistics.median(theirs):.2f} s, over / bare "
                f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})"
            )


if __name__ == "__main__":
    main()
