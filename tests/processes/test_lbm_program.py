"""The program lbm: its exchange and its check, with all ranks in one process."""

from __future__ import annotations

from typing import Any

import pytest
from support.simulated import Ranks, ranks_of

from wirespeed.host.core import Core
from wirespeed.patterns import Place, Shape
from wirespeed.programs.lbm import PATTERN
from wirespeed.rank.faults.steps import FAULTS, of_batches, with_fault


def wrong(ranks: Ranks, rank: int) -> list[int]:
    """Populations that are not the reference's."""
    found = []
    for number, one in enumerate(PATTERN.at(ranks.shape).comparisons(rank)):
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
        with ranks_of(*device, PATTERN, ranks, **options) as job:
            job.start(3)
            job.iterate(1, gated)
            for rank in range(ranks):
                job.launch(rank, PATTERN.at(job.shape).reference(rank, 3))
                assert wrong(job, rank) == []


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not of_batches(fault)])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_faulty_halo_is_found(device: tuple[Core, Any, str], columns: int, fault: str) -> None:
    """Protects the check from a reference that is computed with the same mistake."""
    with ranks_of(*device, PATTERN, 4, size="36x24", columns=columns) as job:
        job.steps[2] = with_fault(job.steps[2], fault, PATTERN.at(job.shape).aside, Place(0))
        for seed in (1, 2):
            job.start(seed)
            job.iterate(1)
        job.launch(2, PATTERN.at(job.shape).reference(2, 2))
        assert wrong(job, 2)


@pytest.mark.parametrize(
    ("ranks", "size", "division"), [(2, "8192x1024", (1, 2)), (4, "64x8", (4, 1)), (8, "64x24", (1, 8))]
)
def test_rows_are_cut_while_they_are_thick(ranks: int, size: str, division: tuple[int, int]) -> None:
    """Protects the contiguous halo, for which no column is packed."""
    plane = PATTERN.at(Shape(ranks, {"size": size})).divided
    assert (plane.columns, plane.rows) == division


def test_a_block_thinner_than_the_halo_is_refused() -> None:
    """Protects from a halo that would come from two ranks away."""
    refusal = PATTERN.at(Shape(4, {"size": "8x8", "columns": 1})).refuse()
    assert refusal and "thinner than the halo of 3" in refusal
