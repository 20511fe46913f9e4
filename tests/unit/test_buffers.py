"""Buffers: what a path packs lists into counts in what fits, and what is said to fit does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.context import Unusable
from wirespeed.rank.path.buffers import Buffers
from wirespeed.units import parse_size

LIMIT = 3 << 20


def buffers(total: int, *, packs: bool, ranks: int = 2) -> Any:
    comm = SimpleNamespace(rank=0, maximum=lambda mine: mine)
    shape = Shape(ranks, {"total": total}, memory=LIMIT)
    context = SimpleNamespace(
        core=SimpleNamespace(lib=None), comm=comm, pattern=find_pattern("blocks"), shape=shape, offset=0
    )
    return Buffers(context, None, "pageable", packs=packs)  # type: ignore[arg-type]


def fits(held: Any) -> str | None:
    """What is said if it does not."""
    needed = held.needed(4096)
    try:
        held._capacities(needed, [needed], 4096)
    except Unusable as error:
        return str(error)
    return None


def test_packing_counts() -> None:
    """Protects from a list that fits by itself, and not beside what it is packed in."""
    assert fits(buffers(1 << 20, packs=False)) is None
    said = fits(buffers(1 << 20, packs=True))
    assert said == (
        "it takes two buffers of 3 MiB and 2 MiB to pack blocks on each rank; the memory that is free holds "
        "two of 3 MiB: --total 512K fits"
    )
    assert fits(buffers(parse_size("512K"), packs=True)) is None


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_what_is_said_to_fit_beside_packing_does(ranks: int) -> None:
    said = fits(buffers(1 << 30, packs=True, ranks=ranks))
    assert said is not None
    total = said.rpartition("--total ")[2].removesuffix(" fits")
    assert fits(buffers(parse_size(total), packs=True, ranks=ranks)) is None
