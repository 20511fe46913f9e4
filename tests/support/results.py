"""Records of a result file, built as a run builds them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath
from wirespeed.results import recorder
from wirespeed.results.model import End, Entry, Record
from wirespeed.results.parts import rates
from wirespeed.results.reading import record_of
from wirespeed.statistics.samples import Samples
from wirespeed.units import parse_sizes

RUN = "0123456789ab"
STEP_PATH = TransferPath("host", "Host buffers", "mpi", "pageable")
DEVICE = {"kind": "emulated", "index": 0, "name": "emulated GPU", "id": "emulated-0", "bytes": 1 << 30}


def line_of(record: Record) -> dict[str, Any]:
    """As it stands in a file."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(record))
    return found


def run(plan: Plan | None = None, name: str = RUN, command: Sequence[str] = ("wirespeed",)) -> dict[str, Any]:
    clock = {"cost_s": 25e-9, "resolution_s": 1e-9}
    plan = plan or Plan(sizes=parse_sizes("1:1G"))
    return line_of(recorder.head(name, plan, command, [DEVICE], clock))


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
    facts: Any = {"mpi": {**mpi, "source": "wheel"}, "launcher": "mpiexec", "ranks": ranks}
    job = recorder.StepJob({}, **facts, startup_s=0.9)
    return line_of(recorder.step(RUN, 0, STEP_PATH, job, details={"a": 1}))


def entry(
    size: int = 8, batches: int = 12, samples: Samples | None = None, name: str = RUN
) -> dict[str, Any]:
    if samples is None:
        samples = Samples()
        for number in range(batches):
            samples.add([1e-6 * (1 + 0.001 * number), 2e-6, 1.5e-6 + 1e-9 * size])
    message = {
        **told(size),
        **samples.summary(),
        "iterations_per_sample": 5,
        "checked": {"iterations": 2, "bytes": 2 * size},
        "elapsed_s": 0.1,
    }
    return made(name, 0, message)


def read_entry(size: int = 8, batches: int = 12) -> Entry:
    """The same as a reader has it."""
    found = record_of(entry(size, batches))
    assert isinstance(found, Entry)
    return found


def made(run: str, step: int, message: dict[str, Any]) -> dict[str, Any]:
    """The line of a figure that a rank has told."""
    found = record_of({**message, "run": run, "step": step, "at": recorder.now()})
    assert isinstance(found, Entry)
    iterations = found.samples * found.iterations_per_sample
    rated = structs.replace(found, bytes_per_second=rates(found.amount, found.times), iterations=iterations)
    return line_of(rated)


def told(size: int) -> dict[str, Any]:
    """What a rank says of a figure besides its samples."""
    return {
        "kind": "entry",
        "pattern": "pingpong",
        "path": STEP_PATH.name,
        "memory": STEP_PATH.memory,
        "bytes": size,
        "definition": "one way: half of a round trip",
        "bandwidth_bytes": size,
        "derived": [],
        "stopped": "precision",
        "details": {},
        "teams": [],
    }


def failure() -> dict[str, Any]:
    stack = {"rank": 1, "host": "n1", "pid": 7, "state": "spinning", "call": "MPI_Recv", "peer": 0}
    outcome = Outcome("hang", "rank 1 hangs\nin MPI_Recv", 1, "n1", "MPI_Recv", 8, 3)
    outcome.stacks.append({**stack, "native": ["opal_progress"], "python": []})
    return line_of(recorder.failure(RUN, STEP_PATH, outcome, 0, "use another MPI"))


def whole_file() -> list[dict[str, Any]]:
    """One run, from its first record to its last."""
    end = End(run=RUN, ended=recorder.now(), status="complete", entries=2, failures=1)
    return [run(), step(), entry(8), entry(1024), failure(), line_of(end)]
