"""A program's batch against its rerun: same bits where nothing is wrong, and a place where something is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.simulated import Meeting, Ranks, ThreadRank, ranks_of

from wirespeed.host.core import core
from wirespeed.patterns import Place, find_pattern
from wirespeed.programs import ProgramPattern
from wirespeed.rank.check.field_check import FieldCheck
from wirespeed.rank.check.payload_check import PayloadMismatch
from wirespeed.rank.faults.steps import with_fault

pytestmark = pytest.mark.slow(after=1)

CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "jacobi": ("jacobi", 2, {"size": "40x24"}),
    "jacobi-columns": ("jacobi", 4, {"size": "37x9", "columns": 2, "norm_every": 3, "edges": "fixed"}),
    "jacobi-without-overlap": ("jacobi", 2, {"size": "40x24", "overlap": "no"}),
    "lbm": ("lbm", 2, {"size": "20x12"}),
    "lbm-columns": ("lbm", 4, {"size": "20x12", "columns": 2, "case": "rayleigh-taylor"}),
}


def outcomes(job: Ranks, program: ProgramPattern, runs: Callable[[], None]) -> list[str]:
    """What each rank's check says of what `runs` makes of the field."""
    meeting, count = Meeting(job.shape.ranks), 0
    ranks: list[Any] = [ThreadRank(job, rank, meeting) for rank in range(job.shape.ranks)]
    checks = [
        FieldCheck(
            cast("Any", SimpleNamespace(comm=rank, shape=job.shape)),
            program.at(job.shape),
            rank,
            lambda: None,
        )
        for rank in ranks
    ]

    def end(check: FieldCheck) -> str:
        try:
            check.end_batch(ranks[0], 3)
        except PayloadMismatch as mismatch:
            return str(mismatch)
        nonlocal count
        count = check.rerun_steps
        return ""

    with ThreadPoolExecutor(job.shape.ranks) as threads:
        list(threads.map(lambda check: check.begin_batch(ranks[0]), checks))
        runs()
        said = list(threads.map(end, checks))
    assert any(said) or count == 3 * program.at(job.shape).facts.steps_per_iteration
    return said


@pytest.fixture(params=CASES)
def job(request: pytest.FixtureRequest) -> Any:
    name, ranks, options = CASES[request.param]
    program, opened = find_pattern(name), core()
    assert isinstance(program, ProgramPattern)
    device = opened.open_device("host", 0)
    with ranks_of(opened, device, "pageable", program, ranks, **options) as found:
        yield found
    opened.lib.ws_device_close(device)


def test_a_batch_is_what_its_rerun_makes(job: Ranks) -> None:
    """Protects figures from false alarms: columns, walls, and norms that add in another order."""
    for gated in {False, all(step.gated for step in job.steps[0])}:
        assert set(outcomes(job, job.program, partial(job.iterate, 3, gated))) == {""}


def test_a_point_that_differs_is_named(job: Ranks) -> None:
    """Protects the comparison: one bit of one number of one rank, at the end of its last row."""
    rank = job.shape.ranks - 1
    compared = job.program.at(job.shape).comparisons(rank)[-1]
    last = compared.own.offset + (compared.rows - 1) * compared.own_pitch + compared.row_bytes - 1

    def damaged() -> None:
        job.iterate(3)
        (byte,) = job.read(rank, Place(last), 1)
        job.write(rank, last, bytes([byte ^ 1]))

    plane = job.program.at(job.shape).divided
    (text,) = set(outcomes(job, job.program, damaged))
    assert (
        f"({plane.width - 1}, {plane.height - 1}) of {plane.width} x {plane.height}, on rank {rank}" in text
    )
    assert text.endswith("is not what a rerun over set-up traffic makes, after a batch of 3 iterations")


@pytest.mark.parametrize("fault", ["batch-stale", "batch-damaged", "batch-lost"])
def test_a_fault_of_batches_is_found(job: Ranks, fault: str) -> None:
    """Protects from faults of ordering: a halo that is a step late, or a part of a step that is lost.

    While the core's word says that no batch runs there is no fault: checks of single iterations miss it.
    """
    rank, program = 1, job.program
    aside, computed = program.at(job.shape).aside, program.at(job.shape).comparisons(rank)[0].own
    job.steps[rank] = with_fault(job.steps[rank], fault, aside, computed)
    for word, found in ((0, False), (1, True)):
        job.write(rank, aside, word.to_bytes(8, "little"))
        said = outcomes(job, program, lambda: job.iterate(3))
        assert all(said) if found else not any(said)


def test_an_iteration_that_is_lost_is_found(job: Ranks) -> None:
    """Protects from a batch that computes less than it says."""
    assert all(outcomes(job, job.program, lambda: job.iterate(2)))
