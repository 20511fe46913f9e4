"""Records of a result file, built as a run builds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import Path
from wirespeed.patterns import Figure
from wirespeed.results import record
from wirespeed.statistics.samples import Samples

RUN = "0123456789ab"
STEP_PATH = Path("host", "Host buffers", "mpi", "pageable")
DEVICE = {"kind": "emulated", "index": 0, "name": "emulated GPU", "id": "emulated-0", "bytes": 1 << 30}


def run(plan: Plan | None = None, name: str = RUN, command: Sequence[str] = ("wirespeed",)) -> dict[str, Any]:
    clock = {"cost_s": 25e-9, "resolution_s": 1e-9}
    return record.run(name, plan or Plan(), command, [DEVICE], clock)


def step() -> dict[str, Any]:
    mpi = {
        "vendor": "openmpi",
        "version": "5.0.11",
        "string": "Open MPI v5.0.11",
        "library": "/lib/libmpi.so.40",
    }
    ranks = [
        {"rank": 0, "host": "n1", "pid": 10, "cpus": "0-7", "device": DEVICE},
        {"rank": 1, "host": "n1", "pid": 11, "cpus": "0,2", "device": None},
    ]
    return record.step(RUN, 0, STEP_PATH, {**mpi, "source": "wheel"}, "mpiexec", {}, ranks, 0.9, {"a": 1})


def entry(
    size: int = 8, batches: int = 12, samples: Samples | None = None, name: str = RUN
) -> dict[str, Any]:
    if samples is None:
        samples = Samples()
        for number in range(batches):
            samples.add([1e-6 * (1 + 0.001 * number), 2e-6, 1.5e-6 + 1e-9 * size])
    checked = {"rounds": 2, "bytes": 2 * size}
    return record.entry(
        name,
        0,
        "pingpong",
        STEP_PATH,
        size,
        Figure(2, size, "one way: half of a round trip"),
        samples.summary(),
        5,
        "precision",
        checked,
        0.1,
    )


def failure() -> dict[str, Any]:
    stack = {"rank": 1, "host": "n1", "pid": 7, "state": "spinning", "call": "MPI_Recv", "peer": 0}
    outcome = Outcome("hang", "rank 1 hangs\nin MPI_Recv", 1, "n1", "MPI_Recv", 8, 3)
    outcome.stacks.append({**stack, "native": ["opal_progress"], "python": []})
    return record.failure(RUN, 0, STEP_PATH, outcome, "use another MPI")


def whole_file() -> list[dict[str, Any]]:
    """One run, from its first record to its last."""
    return [run(), step(), entry(8), entry(1024), failure(), record.end(RUN, "complete", 2, 1)]
