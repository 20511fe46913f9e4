"""Each pattern's plan and figure in small worlds; the golden file was worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden

from wirespeed.patterns import Shape, Transfer, find_pattern
from wirespeed.patterns.ring import Ring

HUNDRED: tuple[tuple[str, int, dict[str, Any], list[int]], ...] = (
    ("pingpong", 2, {}, [0, 1]),
    ("exchange", 2, {}, [0, 1]),
    ("stream", 2, {"window": 2}, [0, 1]),
    ("stream", 2, {"window": 2, "both_ways": True}, [1]),
    ("groups", 6, {"group": 2}, [3]),
    ("groups", 4, {}, [0]),
    ("ring", 4, {}, [1]),
    ("halo", 6, {}, [1]),
    ("copy", 3, {}, [1]),
    ("copy", 2, {}, [0]),
    ("copy", 1, {}, [0]),
    ("pairs", 4, {}, [0, 1, 2, 3]),
    ("pairs", 3, {}, [0, 1, 2]),
    ("pairs", 4, {"alone": True}, [0, 1, 2]),
    ("pairs", 4, {"fan": "both"}, [1, 2]),
    ("pairs", 4, {"fan": "in"}, [2]),
    ("stream", 6, {"pairs": 3, "window": 2}, [1, 3, 5]),
    ("stream", 6, {"pairs": 3, "both_ways": True, "window": 1}, [1]),
    ("rma", 2, {"operation": "put"}, [0, 1]),
    ("rma", 2, {"operation": "get"}, [0, 1]),
    ("rma", 2, {"operation": "fetch-add"}, [0, 1]),
    ("rma", 2, {"operation": "load"}, [0, 1]),
    ("blocks", 2, {"count": 3, "layout": "strided"}, [0, 1]),
    ("blocks", 4, {"count": 3, "layout": "strided"}, [0, 2, 3]),
    ("blocks", 2, {"count": 0}, [0, 1]),
    ("blocks", 2, {"total": 1000}, [0]),
    ("blocks", 3, {"kv": "qwen2.5-7b:tp=4:page=16", "layers": True, "total": 2800}, [0]),
)
"""Pattern, ranks, options, and the ranks whose steps are shown: of messages of 100 B."""
REFUSED: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("groups", 6, {"group": 3}),
    ("groups", 6, {"group": 4}),
    ("groups", 8, {"group": 5}),
    ("groups", 2, {"group": 3}),
    ("groups", 6, {"group": 6}),
    ("ring", 2, {}),
    ("ring", 1, {}),
    ("ring", 2, {"steps": 3}),
    ("halo", 6, {"columns": 3}),
    ("halo", 2, {}),
    ("halo", 6, {"columns": 4}),
    ("halo", 1, {}),
    ("copy", 1, {}),
    *((name, ranks, {}) for name in ("exchange", "pingpong", "rma", "stream") for ranks in (2, 3)),
    *(("blocks", ranks, {}) for ranks in (1, 2, 8)),
    ("stream", 6, {"pairs": 3}),
    ("stream", 4, {"pairs": 3}),
    *(("pairs", ranks, {}) for ranks in (1, 2)),
    ("pairs", 4, {"fan": "out", "sample": 1}),
    *(("pairs", 6, {"sample": phases}) for phases in (5, 6)),
    *(("pairs", 6, {"alone": True, "sample": phases}) for phases in (15, 16)),
)


def moved(transfers: Iterable[Transfer], way: str) -> Iterator[str]:
    for one in (part for transfer in transfers for part in transfer.parts):
        yield f"{way} {one.peer}: {one.bytes} B at {one.offset}, there at {one.remote_offset}"


def told(name: str, shape: Shape, size: int, ranks: list[int]) -> Iterator[str]:
    """Its figure, and of these ranks each phase's team and steps."""
    pattern = find_pattern(name)
    job = pattern.at(shape)
    figure = job.figure(size)
    yield f"{figure.definition}; {figure.bytes} B, of the time one part of {figure.divisor}"
    yield from (f"also {one.name}: {one.amount} {one.unit}" for one in figure.derived)
    barriers = "; a barrier before each sample" if job.timing.barrier else ""
    yield f"phase {job.timing.reported} of {job.timing.phases} is reported{barriers}"
    for rank in ranks:
        yield f"rank {rank} needs {job.extent(rank, size)} B"
        for phase in range(job.timing.phases):
            if team := job.team(rank, phase):
                yield f"  phase {phase}: {team.name}, ranks {', '.join(map(str, team.ranks))}"
            for step in job.steps(rank, size, phase):
                work = [" ".join(map(str, (one.kernel, *one.arguments))) for one in step.after]
                yield f"    {'; '.join([*moved(step.sends, 'to'), *moved(step.receives, 'from'), *work])}"


def said(name: str, shape: Shape, size: int) -> str:
    return find_pattern(name).at(shape).figure(size).definition


def test_plans(golden: Golden) -> None:
    """Protects what is timed, what a figure is called, and whose edge lands where."""
    texts = {
        f"{name} of {ranks} ranks {options or ''}".rstrip(): "\n".join(
            told(name, Shape(ranks, options), 100, shown)
        )
        for name, ranks, options, shown in HUNDRED
    }
    for name, ranks, options in REFUSED:
        why = find_pattern(name).at(Shape(ranks, options)).refuse() or "fits"
        wanted = find_pattern(name).at(Shape(0, options)).rank_rule.wanted
        texts[name] = f"{texts.get(name, '')}{ranks} ranks, {options}: {why}; wants {wanted}\n"
    golden("patterns/plans", texts)


@pytest.mark.parametrize(
    ("memory", "size", "held"),
    [(None, 300, 64), (1000, 300, 3), (1000, 500, 2), (1000, 1000, 1), (1000, 4096, 1), (1000, 1, 64)],
)
def test_a_window_is_what_memory_holds(memory: int | None, size: int, held: int) -> None:
    """Protects from buffers beyond the memory; a message of no bytes takes none."""
    shape, stream = Shape(2, {}, memory), find_pattern("stream")
    job = stream.at(shape)
    assert len(job.steps(0, size)[0].sends) == held
    assert len(job.steps(0, 0)[0].sends) == 64
    assert job.figure(size).bytes == held * size
    assert ("(memory holds no more)" in said("stream", shape, size)) == (held < 64)


def test_groups_count_words_of_32_bytes() -> None:
    groups = find_pattern("groups")
    assert groups.at(Shape(2, {"count": 4})).size_rule.fixed == (128,)
    assert groups.at(Shape(2)).size_rule.fixed is None


@pytest.mark.parametrize(("size", "whole"), [(0, 8), (1, 8), (8, 8), (15, 8), (16, 16), (20, 16)])
def test_a_ring_moves_whole_doubles(size: int, whole: int) -> None:
    assert find_pattern("ring").at(Shape(2)).steps(0, size)[0].sends[0].bytes == whole


@pytest.mark.parametrize(("ranks", "steps"), [(2, 2), (3, 6), (4, 4), (63, 126), (65, 128), (200, 128)])
def test_a_ring_is_gone_round_an_even_number_of_steps(ranks: int, steps: int) -> None:
    assert len(find_pattern("ring").at(Shape(ranks)).steps(0, 8)) == steps


def test_sums_of_a_ring() -> None:
    """Protects the check: once round four ranks adds 1 + 2 + 3 + 4; two places more, what their ranks add."""
    once, further = (Ring().at(Shape(4, {"steps": steps})).sums(1, 8) for steps in (None, 6))
    assert (once.bytes, once.before, once.after, once.offset) == (8, 1e6, 1e6 + 10, 0)
    # Six places back from rank 1 stands rank 3; on the way once more are ranks 0 and 1, which add 1 and 2.
    assert (further.before, further.after) == (1e6, 3e6 + 10 + 3)


def peers(rank: int, ranks: int, **options: Any) -> list[int]:
    (step,) = find_pattern("halo").at(Shape(ranks, options)).steps(rank, 8)
    return [one.peer for one in step.sends]


def test_the_edges_of_a_grid() -> None:
    # 0 1 2
    # 3 4 5
    # 6 7 8
    assert peers(4, 9) == [3, 5, 1, 7]
    assert peers(8, 9) == [7, 5] and peers(0, 9) == [1, 3]
    assert peers(0, 9, periodic=True) == [2, 1, 6, 3]
    assert peers(8, 9, periodic=True) == [7, 6, 5, 2]
    # Two columns: both neighbours are one rank. One column: a rank is no neighbour of itself.
    assert peers(0, 4, columns=2, periodic=True) == [1, 1, 2, 2]
    assert peers(0, 3, columns=1, periodic=True) == [2, 1]


@pytest.mark.parametrize(
    ("ranks", "columns", "grid"),
    [(6, None, "3 x 2"), (7, None, "7 x 1"), (36, None, "6 x 6"), (48, None, "8 x 6"), (6, 2, "2 x 3")],
)
def test_a_grid_is_as_square_as_can_be(ranks: int, columns: int | None, grid: str) -> None:
    assert f"of a {grid} grid" in said("halo", Shape(ranks, {"columns": columns}), 8)


@given(st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_the_figure_of_a_halo_is_that_of_a_rank_with_the_most_neighbours(
    columns: int, rows: int, periodic: bool
) -> None:
    ranks = columns * rows
    most = max(len(peers(rank, ranks, columns=columns, periodic=periodic)) for rank in range(ranks))
    shape = Shape(ranks, {"columns": columns, "periodic": periodic})
    assert find_pattern("halo").at(shape).figure(100).bytes == 100 * most
