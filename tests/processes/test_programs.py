"""Programs with all ranks in one process: their kernels, their exchange and their check."""

from __future__ import annotations

import re
import struct
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command import captured
from support.jacobi_reference import field, noise, norm, relaxed
from support.simulated import Ranks, ranks_of

from wirespeed.host.core import Core, core
from wirespeed.patterns import Place, Shape
from wirespeed.programs import ProgramPattern
from wirespeed.programs.jacobi import PATTERN as JACOBI
from wirespeed.programs.lbm import PATTERN as LBM
from wirespeed.rank.faults.steps import FAULTS, of_batches, with_fault

WORLDS = [(1, None), (2, None), (2, 2), (3, 3), (4, 1), (4, 2), (4, 4)]


@pytest.mark.parametrize("edges", ["periodic", "fixed"])
@pytest.mark.parametrize(("ranks", "columns"), WORLDS)
def test_every_bit_is_that_of_numpy(
    device: tuple[Core, Any, str], ranks: int, columns: int | None, edges: str
) -> None:
    """Protects the claim that no bit depends on the number of ranks, the division or the overlap."""
    options: dict[str, Any] = {"columns": columns, "edges": edges, "scaling": "strong"}
    start = noise(36, 24, 5, "f4")
    expected, norms = relaxed(start, 8, edges == "periodic")
    for overlap, gated in (("yes", False), ("no", False), ("yes", True), ("no", True)):
        with ranks_of(*device, JACOBI, ranks, size="36x24", overlap=overlap, **options) as job:
            job.start(5)
            job.iterate(2, gated)
            assert np.array_equal(field(job).view("u4"), np.ascontiguousarray(expected).view("u4"))
            for rank in range(ranks):
                assert norm(job, rank) == pytest.approx(norms[:4], rel=1e-6)


@pytest.mark.parametrize(("fp", "every"), [("64", 1), ("32", 3), ("32", 2), ("64", 0)])
def test_whole_tiles_and_rests_of_tiles(device: tuple[Core, Any, str], fp: str, every: int) -> None:
    """Protects blocks wider than a tile, odd widths, strips, and norms that are not taken in every step."""
    options: dict[str, Any] = {"size": "1071x53", "columns": 2, "fp": fp, "norm_every": every}
    with ranks_of(*device, JACOBI, 4, **options) as job:
        job.start(3)
        job.iterate(2)
        plane = JACOBI.at(job.shape).divided
        start = noise(plane.width, plane.height, 3, f"f{int(fp) // 8}")
        period = len(job.steps[0])
        expected, norms = relaxed(start, 2 * period, periodic=True)
        assert np.array_equal(field(job), expected)
        wanted = {slot: norms[step] for slot, step in JACOBI.at(job.shape)._compared_norms.items()}
        assert norm(job, 3) == pytest.approx(list(wanted.values()), rel=1e-6)


ON_A_GRID = """
import os, pytest, sys
class Grid:
    def pytest_collection_finish(self):
        os.environ["WIRESPEED_EMULATED"] = sys.argv[1]
sys.exit(pytest.main(sys.argv[2:], plugins=[Grid()]))
"""
"""Tests with emulated GPUs of other threads; conftest.py has cleaned the environment by then."""


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["blocks=5,threads=33,seed=7", "blocks=3,threads=64,seed=1"])
def test_no_bit_depends_on_the_grid_of_threads(threads: str) -> None:
    """Protects GPUs: warps that pass numbers to each other, and threads that are no whole warps."""
    words = ("-n0", "--all", "-q", "-pno:cacheprovider", "-kemulated and (whole_tiles or steps_are_numpys)")
    files = (__file__, Path(__file__).parents[1] / "native/test_lbm.py")
    done = captured(
        [sys.executable, "-P", "-c", ON_A_GRID, threads, *words, *files], cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0 and "8 passed" in done.stdout, done.stdout[-3000:]


def test_the_reference_is_what_one_rank_alone_computes(device: tuple[Core, Any, str]) -> None:
    """Protects the check: it must accept a right field, and name the point that differs in a wrong one."""
    for edges in ("periodic", "fixed"):
        with ranks_of(*device, JACOBI, 4, size="20x12", columns=2, edges=edges) as job:
            job.start(9)
            job.iterate(JACOBI.at(job.shape).checked_iterations)
            for rank in range(4):
                job.launch(rank, JACOBI.at(job.shape).reference(rank, 9))
                (one,) = JACOBI.at(job.shape).comparisons(rank)
                rows = [
                    [
                        job.read(rank, type(place)(place.offset + row * pitch), one.row_bytes)
                        for row in range(one.rows)
                    ]
                    for place, pitch in ((one.own, one.own_pitch), (one.reference, one.reference_pitch))
                ]
                assert rows[0] == rows[1]
                for checked in JACOBI.at(job.shape).norms(rank):
                    (total,) = struct.unpack("<d", job.read(rank, checked.own, 8))
                    assert total > 0
    assert (
        JACOBI.at(Shape(4, {"size": "20x12", "columns": 2})).place(3, 0, 2, 16) == "point (24, 14) of 40 x 24"
    )


@pytest.mark.parametrize("overlap", ["yes", "no"])
@pytest.mark.parametrize("fp", ["32", "64"])
def test_a_norm_has_room_for_every_block_of_a_launch(fp: str, overlap: str) -> None:
    """Protects the norm of large planes: native/kernels/fields.h keeps a part for so many blocks."""
    opened = core()
    text = opened.text(opened.lib.ws_kernel_source(b"ws_jacobi_step_f32"))
    (room,) = re.findall(r"#define WS_NORM_MOST (\d+)", text)
    shape = Shape(2, {"size": "16384x16384", "fp": fp, "overlap": overlap})
    job = JACOBI.at(shape)
    steps = job.steps(0, job.size_rule.chosen()[0])
    blocks = [work.blocks for step in steps for work in (*step.after, *step.meanwhile, *step.gated)]
    assert max(blocks) == int(room)


@pytest.mark.parametrize("every", [1, 3, 8])
@pytest.mark.parametrize("edges", ["periodic", "fixed"])
def test_the_norm_that_the_loop_looks_at(device: tuple[Core, Any, str], edges: str, every: int) -> None:
    """Protects --until: that norm is the latest whose sum is known, and it falls, which noise would not."""
    options: dict[str, Any] = {"edges": edges, "norm_every": every, "until": "1e-4", "columns": 1}
    with ranks_of(*device, JACOBI, 2, size="36x12", steps=160, **options) as job:
        period = len(job.steps[0])
        found = [JACOBI.at(job.shape).convergence(rank) for rank in range(2)]
        start = noise(36, 24, 0, "f4", coarse=1)
        _, norms = relaxed(start, 40 * period, edges == "periodic")
        for rank, one in enumerate(found):
            assert one is not None and one.points == 36 * 24 and one.most == -(-160 // period)
            job.launch(rank, one.start)
        assert np.array_equal(field(job), start[1:-1, 1:-1])
        job.iterate(found[0].first)  # type: ignore[union-attr]
        for done in range(found[0].first, 8):  # type: ignore[union-attr]
            taken = [step for step in range(done * period) if step % period % every == 0]
            latest = max(step for step in taken if step + 4 < done * period)
            for rank, one in enumerate(found):
                (total,) = struct.unpack("<d", job.read(rank, one.total, 8))  # type: ignore[union-attr]
                assert total == pytest.approx(norms[latest], rel=1e-5)
            job.iterate(1)
    # Waves of any length vanish: as 1/t^3 while they are many, faster at the end.
    assert norms[8 * period] < norms[period] / 100


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not of_batches(fault)])
def test_a_faulty_halo_is_found(device: tuple[Core, Any, str], fault: str) -> None:
    """Protects the check, where rows of a halo have room between them that nobody reads."""
    with ranks_of(*device, JACOBI, 4, size="40x24", columns=1) as job:
        job.steps[2] = with_fault(job.steps[2], fault, JACOBI.at(job.shape).aside, Place(0))
        for seed in (1, 2):
            job.start(seed)
            job.iterate(JACOBI.at(job.shape).checked_iterations)
        expected, _ = relaxed(noise(40, 96, 2, "f4"), 8, periodic=True)
        assert not np.array_equal(field(job), expected)


def solved(core: Core, device: Any, memory: str, points: int) -> float:
    """The largest error of the solution on a unit square, with `points` inside each way."""
    h = 1 / (points + 1)
    at = np.arange(points + 2) * h
    x, y = np.meshgrid(at, at)
    exact = np.exp(x) * np.sin(y) - 0.25 * (x * x + y * y)  # -laplace(u) = 1
    frame = exact.copy()
    frame[1:-1, 1:-1] = 0
    with ranks_of(
        core, device, memory, JACOBI, 1, size=f"{points}x{points}", edges="fixed", fp="64", norm_every=0
    ) as job:
        block = JACOBI.at(job.shape)._layout.block
        step = job.steps[0]
        for twin in (0, 1):
            for row in range(-1, points + 1):
                job.write(0, block.row(twin, row), frame[row + 1, 1:-1].tobytes())
            for side, column in ((0, frame[1:-1, 0]), (1, frame[1:-1, -1])):
                job.write(0, block.column_in(twin, side), column.tobytes())
        work = [one for each in step for one in each.gated]
        with_source = [
            replace(one, arguments=(*one.arguments[:16], h * h, *one.arguments[17:])) for one in work
        ]
        for _ in range(3 * points * points // len(work)):
            job.launch(0, with_source)
        return float(np.abs(field(job) - exact[1:-1, 1:-1]).max())


def test_the_solution_converges_at_second_order() -> None:
    """Protects the scheme itself: an error would be in the reference, too, and the check would not see it."""
    opened = core()
    handle = opened.open_device("host", 0)
    errors = [solved(opened, handle, "pageable", points) for points in (7, 15, 31)]
    opened.lib.ws_device_close(handle)
    orders = [np.log2(one / other) for one, other in pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.1)


@pytest.mark.parametrize(
    ("program", "ranks", "options", "division"),
    [
        (JACOBI, 4, {"scaling": "strong", "size": "512x512"}, (1, 4)),
        (JACOBI, 8, {"scaling": "strong", "size": "512x512"}, (2, 4)),
        (JACOBI, 2, {"scaling": "strong", "size": "512x64"}, (2, 1)),
        (JACOBI, 8, {}, (1, 8)),
        *((LBM, 2, {"size": "8192x1024"}, (1, 2)), (LBM, 4, {"size": "64x8"}, (4, 1))),
        (LBM, 8, {"size": "64x24"}, (1, 8)),
    ],
)
def test_the_division_has_the_smallest_halo(
    program: ProgramPattern, ranks: int, options: dict[str, Any], division: tuple[int, int]
) -> None:
    """Protects from sending more than necessary; of equals rows, contiguous ones, while they are thick."""
    plane = program.at(Shape(ranks, options)).divided
    assert (plane.columns, plane.rows) == division


def wrong(ranks: Ranks, rank: int) -> list[int]:
    """Populations that are not the reference's."""
    found = []
    for number, one in enumerate(LBM.at(ranks.shape).comparisons(rank)):
        size = one.own_pitch * (one.rows - 1) + one.row_bytes
        own = ranks.read(rank, one.own, size)
        other = ranks.read(rank, one.reference, one.reference_pitch * (one.rows - 1) + one.row_bytes)
        for row in range(one.rows):
            mine = own[row * one.own_pitch :][: one.row_bytes]
            if mine != other[row * one.reference_pitch :][: one.row_bytes]:
                found.append(number)
                break
    return found


CUTS = [
    *((*cut, "36x24") for cut in ((1, 1), (2, 1), (2, 2), (3, 3), (4, 1), (4, 2), (4, 4), (6, 2))),
    # Rows of several tiles, the last of 2 sites; wide edges; blocks as thin as a halo.
    *((2, 1, "514x14"), (2, 2, "260x7"), (4, 2, "6x10")),
]


@pytest.mark.parametrize("case", ["shear-wave", "rayleigh-taylor"])
@pytest.mark.parametrize(("ranks", "columns", "size"), CUTS)
def test_every_bit_is_the_reference_s(
    device: tuple[Core, Any, str], ranks: int, columns: int, size: str, case: str
) -> None:
    """Protects both phases of the exchange, corners, walls, and the reference itself."""
    for overlap, gated in (("yes", False), ("no", False), ("yes", columns == 1), ("no", columns == 1)):
        options: dict[str, Any] = {"size": size, "columns": columns, "case": case, "overlap": overlap}
        with ranks_of(*device, LBM, ranks, **options) as job:
            job.start(3)
            job.iterate(1, gated)
            for rank in range(ranks):
                job.launch(rank, LBM.at(job.shape).reference(rank, 3))
                assert wrong(job, rank) == []


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not of_batches(fault)])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_faulty_halo_of_lbm_is_found(device: tuple[Core, Any, str], columns: int, fault: str) -> None:
    """Protects the check from a reference that is computed with the same mistake."""
    with ranks_of(*device, LBM, 4, size="36x24", columns=columns) as job:
        job.steps[2] = with_fault(job.steps[2], fault, LBM.at(job.shape).aside, Place(0))
        for seed in (1, 2):
            job.start(seed)
            job.iterate(1)
        job.launch(2, LBM.at(job.shape).reference(2, 2))
        assert wrong(job, 2)
