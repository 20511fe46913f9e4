"""What a job of many ranks on several hosts says of a fault, how soon, and which figures it keeps.

    .venv/bin/python bench/faults_at_scale.py
    .venv/bin/python bench/faults_at_scale.py --only 'a host' --by mpich

64 ranks on 8 hosts, by Open MPI's mpiexec, MPICH's and srun. The hosts are network namespaces of this
machine, one of which is struck while the second size is measured; --launches 2 shows what becomes of the
next launch. It needs root, and Slurm's daemons.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from common import parser

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.cluster_faults import FAULTS, STARTS, Cluster, Seen, Unstruck, cluster, mpi_of, struck

NAMES = {"openmpi": "Open MPI's mpiexec", "mpich": "MPICH's mpiexec", "slurm": "srun, Open MPI"}


def main() -> None:
    given = parser(
        __doc__,
        hosts=8,
        each=8,
        launches=1,
        only="",
        by=",".join(STARTS),
        sizes="8,1K",
        timeout=60,
        patience=900.0,
    ).parse_args()
    words = (
        f"groups --group {given.each} --paths host --sizes {given.sizes} --launches {given.launches}".split()
    )
    words += f"--precision 0.0001% --max-time 3 --timeout {given.timeout} --no-evidence".split()
    with tempfile.TemporaryDirectory() as folder, cluster(given.hosts, given.each, Path(folder)) as there:
        print(
            f"{there.ranks} ranks on {given.hosts} hosts; {there.struck.name} is struck; "
            f"--timeout {given.timeout}"
        )
        for fault in FAULTS:
            for start in given.by.split(","):
                if given.only in fault:
                    out = there.disk / f"{time.monotonic_ns()}.jsonl"
                    try:
                        seen = struck(there, start, fault, out, words, given.patience)
                    except Unstruck as why:
                        print(f"\n{fault}, {NAMES[start]}: {why}", flush=True)
                    else:
                        _print(there, start, fault, seen, given.launches)
                    out.unlink()


def _print(there: Cluster, start: str, fault: str, seen: Seen, launches: int) -> None:
    print(f"\n{fault}, {NAMES[start]} ({mpi_of(start).name}): exit code {seen.code}, {seen.seconds:.0f} s")
    for line in seen.lines or ["NOTHING NAMES IT"]:
        print(f"  {line}")
    for launch in range(1, launches + 1):
        kept = [one for one in seen.entries if one["launch"] == launch]
        nodes = ", ".join(f"{one['bytes']} B of {len(one['teams'])} nodes" for one in kept)
        print(f"  launch {launch}: {nodes or 'no figure'}")
    lost = [one["bytes"] for one in seen.before if one not in seen.entries]
    if lost:
        print(f"  LOST: {lost}")
    for line in seen.left:
        print(f"  LEFT BEHIND: {line}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
