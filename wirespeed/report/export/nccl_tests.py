"""Collective operations in the layout of nccl-tests, for programs that read its output; GB = 1e9 bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wirespeed.errors import WirespeedError
from wirespeed.patterns import Shape
from wirespeed.patterns.collectives.operation import as_operation
from wirespeed.report.facts.labels import comments
from wirespeed.results.runs import Entry, Run

TYPES = {"fp32": "float", "fp16": "half", "bf16": "bfloat16", "fp64": "double", "int32": "int32"}
"""As nccl-tests calls them."""
HEAD = (
    f"#{'':51}{'out-of-place':>28}{'':17}{'in-place':>24}\n"
    f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}"
    f"{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>8}{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>8}\n"
    f"#{'(B)':>11}{'(elements)':>14}{'':>26}{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
    f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}\n"
)
_NONE = f"{'N/A':>9}{'N/A':>8}{'N/A':>8}{'N/A':>8}"


def to_nccl_tests(runs: Sequence[Run]) -> str:
    """A block for each operation and path; results in place and out of place side by side.

    Raises WirespeedError for figures of anything else.
    """
    found: dict[tuple[Any, ...], dict[bool, tuple[Run, str]]] = {}
    for run in runs:
        if run.pattern is None or not run.pattern.shown.by_nccl_tests:
            raise WirespeedError(
                "--format nccl-tests: that layout is of collective operations that move data, not of "
                f"{run.head.plan.pattern}"
            )
        other = {key: value for key, value in run.options.items() if key != "in_place"}
        for path in run.paths:
            key = (run.pattern.name, path, run.head.plan.ranks, tuple(sorted(other.items(), key=str)))
            found.setdefault(key, {})[run.options.get("in_place") == "yes"] = (run, path)
    return "\n".join("".join(_block(both)) for both in found.values())


def _block(both: dict[bool, tuple[Run, str]]) -> Iterator[str]:
    run, path = next(iter(both.values()))
    pattern = as_operation(run.pattern)
    shape = Shape(run.head.plan.ranks, run.options)
    yield f"# wirespeed {pattern.name}, path {path}, {shape.ranks} ranks; {run.head.environment.host}\n"
    yield HEAD
    entries = {
        place: {entry.bytes: entry for entry in run.of_path(path)} for place, (run, path) in both.items()
    }
    rates = [entry.rate / 1e9 for of_place in entries.values() for entry in of_place.values() if entry.amount]
    for size in sorted({size for of_place in entries.values() for size in of_place}):
        job = pattern.at(shape).rank_view(0, size)
        bytes_, reduces = max(job.given_bytes, job.got_bytes), "op" in run.options
        root = run.options.get("root", -1)
        redop = job.reduction if reduces else "none"
        yield f"{bytes_:12d}{job.count:14d}{TYPES[job.type]:>10}{redop:>8}{root:8d}"
        yield "".join(_figures(entries.get(place, {}).get(size)) for place in (False, True)) + "\n"
    wrong = sum(entry.checked.wrong or 0 for of_place in entries.values() for entry in of_place.values())
    yield f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n"
    yield f"# Avg bus bandwidth    : {sum(rates) / max(len(rates), 1):g}\n"
    for place, (run, path) in both.items():
        where = "in place" if place else "out of place"
        yield from (f"# {where}: {line}\n" for line in comments(run, run.of_path(path)))


def _figures(entry: Entry | None) -> str:
    if entry is None:
        return _NONE
    algbw = next((derived.median or 0.0 for derived in entry.derived if derived.name == "algbw"), 0.0)
    us = entry.seconds * 1e6
    # Fewer decimals of longer times, as nccl-tests has them: the columns stay apart.
    time = f"{us:.{2 if us < 100 else 1 if us < 1e4 else 0}f}"
    return f"  {time:>7}  {algbw:6.2f}  {entry.rate / 1e9:6.2f}  {entry.checked.wrong or 0:6d}"
