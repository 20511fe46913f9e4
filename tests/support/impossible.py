"""Records of runs whose figures contradict each other, or only nearly do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.records import as_read, end, entry, head, step

from wirespeed.patterns import Shape, find_pattern
from wirespeed.programs import ProgramPattern
from wirespeed.results.runs import Run, collect

Record = dict[str, Any]
H200 = "NVIDIA H200"
CLOCK = {"batches": 10, "long": 0, "short": 0, "host_s": 0.4, "stamped_s": 0.39}
FALSE: Record = {"clock": {**CLOCK, "long": 2}}
"""Members of an entry that cannot be true."""
WHY = "the samples of a batch count 390 ms of 400 ms by the host's clock, in 2 of 10 batches"
WIDE = 12.24
"""Half the interval of an uncertain figure, as a share of its median."""


def program_head(name: str, ranks: int, run: str, **options: Any) -> Record:
    begin = head()
    begin["plan"] |= {"pattern": name, "ranks": ranks, "options": [*map(list, options.items())]}
    return begin | {"run": run}


def program_step(path: str, ranks: int, run: str, gpu: str = H200) -> Record:
    device = {"kind": "cuda", "name": gpu}
    places = [
        {"rank": n, "host": "n1", "device": {**device, "index": n, "id": f"GPU-{n}"}} for n in range(ranks)
    ]
    return step(path, transport="gpu", memory="device", ranks=places) | {"run": run}


def program_entry(
    path: str,
    name: str,
    ranks: int,
    seconds: float,
    options: Record,
    run: str,
    share: float = 0.004,
    compute: tuple[float, float, float] | None = None,
    times: Record | None = None,
    waited: float | None = None,
    **more: Any,
) -> Record:
    """One figure with what a rank would say of it. compute: median, low and high; times: instead of share;
    waited: by the computation."""
    pattern = find_pattern(name)
    assert isinstance(pattern, ProgramPattern)
    shape = Shape(ranks, options)
    job = pattern.at(shape)
    (size,) = job.size_rule.fixed or ()
    facts, figure = job.facts, job.figure(size)
    told: Record = {"bytes_per_site": facts.bytes_per_site, "steps_per_iteration": facts.steps_per_iteration}
    told["compute_waited"] = waited
    if compute:
        told["compute"] = dict(zip(("median", "low", "high"), compute, strict=True))
    more |= {"seconds": times} if times else {}
    more = {"pattern": name, "bandwidth_bytes": figure.bytes, "program": told, "run": run, **more}
    return {**entry(path, size, seconds, share), "memory": "device", **more}


def program_run(
    seconds: float,
    *,
    name: str = "jacobi",
    path: str = "gpu",
    ranks: int = 2,
    run: str = "r",
    gpu: str = H200,
    options: Record | None = None,
    **more: Any,
) -> list[Record]:
    """A run of one figure of a program; `more`: of program_entry()."""
    chosen = {"size": "4096x4096", "scaling": "weak", **(options or {})}
    return [
        program_head(name, ranks, run, **chosen),
        program_step(path, ranks, run, gpu),
        program_entry(path, name, ranks, seconds, chosen, run, **more),
        end() | {"run": run},
    ]


def last_run(*parts: Iterable[Record]) -> Run:
    """The last of the runs of one file."""
    return collect(as_read([record for part in parts for record in part]))[-1]
