"""Each pattern's plan and figure in small worlds, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.patterns import Place as Offset
from wirespeed.patterns import Shape, Transfer, find_pattern

Place = tuple[int, int, int, int]
"""Of a transfer: peer, bytes, place here, place there."""


def places(transfers: tuple[Transfer, ...]) -> list[Place]:
    return [(one.peer, one.bytes, one.offset, one.remote_offset) for one in transfers]


def plan(name: str, rank: int, shape: Shape, size: int, *part: int) -> list[tuple[list[Place], list[Place]]]:
    """(sends, receives) of each step."""
    return [
        (places(step.sends), places(step.receives))
        for step in find_pattern(name).steps(rank, shape, size, *part)
    ]


def said(name: str, shape: Shape, size: int) -> tuple[float, int, str, list[tuple[str, float, str]]]:
    figure = find_pattern(name).figure(shape, size)
    derived = [(one.name, one.amount, one.unit) for one in figure.derived]
    return figure.divisor, figure.bytes, figure.definition, derived


# ---- two ranks ------------------------------------------------------------------------------------------


def test_pingpong() -> None:
    """Protects the one-way time: rank 1 answers only what it has received, and a sample is half of both."""
    there = (1, 100, 0, 0)
    back = (0, 100, 0, 0)
    assert plan("pingpong", 0, Shape(2), 100) == [([there], []), ([], [there])]
    assert plan("pingpong", 1, Shape(2), 100) == [([], [back]), ([back], [])]
    assert said("pingpong", Shape(2), 100) == (2, 100, "one way: half of a round trip", [])


def test_exchange() -> None:
    assert plan("exchange", 0, Shape(2), 100) == [([(1, 100, 0, 0)], [(1, 100, 0, 0)])]
    assert plan("exchange", 1, Shape(2), 100) == [([(0, 100, 0, 0)], [(0, 100, 0, 0)])]
    text = "each way, both at once: time until both messages have arrived; GB/s of one direction"
    assert said("exchange", Shape(2), 100) == (1, 100, text, [])


def test_stream_sends_a_window_and_hears_an_empty_answer() -> None:
    shape = Shape(2, {"window": 2})
    assert plan("stream", 0, shape, 100) == [
        ([(1, 100, 0, 0), (1, 100, 100, 100)], []),
        ([], [(1, 0, 0, 0)]),
    ]
    assert plan("stream", 1, shape, 100) == [
        ([], [(0, 100, 0, 0), (0, 100, 100, 100)]),
        ([(0, 0, 0, 0)], []),
    ]
    text = "window: 2 messages to rank 1 and an empty answer; GB/s of that direction"
    assert said("stream", shape, 100) == (1, 200, text, [("messages", 2, "messages/s")])


def test_stream_both_ways() -> None:
    shape = Shape(2, {"window": 2, "both_ways": True})
    window = [(0, 100, 0, 0), (0, 100, 100, 100)]
    assert plan("stream", 1, shape, 100) == [(window, window)]
    text = "window: 2 messages each way, both ways at once; GB/s of ONE direction"
    derived = [("sum of both", 400, "GB/s"), ("messages each way", 2, "messages/s")]
    assert said("stream", shape, 100) == (1, 200, text, derived)


@pytest.mark.parametrize(
    ("memory", "size", "held"),
    [(None, 300, 64), (1000, 300, 3), (1000, 500, 2), (1000, 1000, 1), (1000, 4096, 1), (1000, 1, 64)],
)
def test_a_window_is_what_memory_holds(memory: int | None, size: int, held: int) -> None:
    """Protects from buffers beyond the memory; a message of no bytes takes none."""
    shape = Shape(2, {}, memory)
    assert len(plan("stream", 0, shape, size)[0][0]) == held
    assert len(plan("stream", 0, shape, 0)[0][0]) == 64
    _, total, text, _ = said("stream", shape, size)
    assert total == held * size
    assert ("(memory holds no more)" in text) == (held < 64)


# ---- groups, ring, halo ---------------------------------------------------------------------------------


def test_groups() -> None:
    """Protects the bisection: member 1 of the middle one of three groups of two."""
    shape = Shape(6, {"group": 2})
    assert plan("groups", 3, shape, 100) == [
        ([(5, 100, 0, 0), (1, 100, 100, 100)], [(1, 100, 0, 0), (5, 100, 100, 100)])
    ]
    team = find_pattern("groups").team(3, shape)
    assert team and (team.name, list(team.ranks)) == ("group 1", [2, 3])
    text = "slowest group: its 2 x 2 messages out and as many in, all groups at once; GB/s out of one group"
    assert said("groups", shape, 100) == (1, 400, text, [("both ways", 800, "GB/s")])
    # Without --group each rank is one.
    assert said("groups", Shape(4), 100)[:2] == (1, 300)


def test_groups_that_do_not_fit() -> None:
    groups = find_pattern("groups")
    assert groups.refuse(Shape(6, {"group": 3})) is None
    assert groups.refuse(Shape(6, {"group": 4})) == (
        "6 ranks do not fall into groups of 4; --group may be 1, 2, 3"
    )
    assert str(groups.refuse(Shape(8, {"group": 5}))).endswith("--group may be 1, 2, 4")
    assert str(groups.refuse(Shape(2, {"group": 3}))).endswith("--group may be 1")
    assert (
        groups.refuse(Shape(6, {"group": 6})) == "6 ranks in groups of 6 are one group: it takes two or more"
    )


def test_groups_count_words_of_32_bytes() -> None:
    groups = find_pattern("groups")
    assert groups.fixed_sizes(Shape(2, {"count": 4})) == (128,)
    assert groups.fixed_sizes(Shape(2)) is None


def test_ring() -> None:
    """Protects the two buffers that take turns: what arrives in one is what the next step sends."""
    ring, shape = find_pattern("ring"), Shape(4)
    # 20 bytes hold two doubles.
    steps = plan("ring", 1, shape, 20)
    assert steps == [([(2, 16, 0, 16)], [(0, 16, 16, 0)]), ([(2, 16, 16, 0)], [(0, 16, 0, 16)])] * 2
    work = [(work.kernel, *work.arguments) for step in ring.steps(1, shape, 20) for work in step.after]
    assert work == [("ws_sums_add", Offset(16), 2, 2.0), ("ws_sums_add", Offset(0), 2, 2.0)] * 2
    assert ring.extent(1, shape, 20) == 32
    text = "iteration: 4 steps of send, receive and add on 4 ranks, slowest rank; GB/s sent by each rank"
    assert said("ring", shape, 20) == (1, 64, text, [("a step", 0.25, "s")])


@pytest.mark.parametrize(("size", "whole"), [(0, 8), (1, 8), (8, 8), (15, 8), (16, 16), (20, 16)])
def test_a_ring_moves_whole_doubles(size: int, whole: int) -> None:
    assert plan("ring", 0, Shape(2), size)[0][0][0][1] == whole


@pytest.mark.parametrize(("ranks", "steps"), [(2, 2), (3, 6), (4, 4), (63, 126), (65, 128), (200, 128)])
def test_a_ring_is_gone_round_an_even_number_of_steps(ranks: int, steps: int) -> None:
    assert len(plan("ring", 0, Shape(ranks), 8)) == steps


def test_sums_of_a_ring() -> None:
    """Protects the check: once round four ranks adds 1 + 2 + 3 + 4; two places more, what their ranks add."""
    ring = find_pattern("ring")
    once, further = ring.sums(1, Shape(4), 8), ring.sums(1, Shape(4, {"steps": 6}), 8)
    assert once and (once.bytes, once.before, once.after, once.offset) == (8, 1e6, 1e6 + 10, 0)
    # Six places back from rank 1 stands rank 3; on the way once more are ranks 0 and 1, which add 1 and 2.
    assert further and (further.before, further.after) == (1e6, 3e6 + 10 + 3)


def test_rings_that_cannot_be() -> None:
    ring = find_pattern("ring")
    assert ring.refuse(Shape(2)) is None
    assert ring.refuse(Shape(1)) == "ring takes two ranks or more"
    assert ring.refuse(Shape(2, {"steps": 3})) == "--steps 3: write an even number; two buffers take turns"


def test_halo() -> None:
    """Protects whose edge lands where: rank 1 stands in the middle of the upper of two rows of three."""
    assert plan("halo", 1, Shape(6), 10) == [
        # West, east, south; what goes east lands at the western edge there.
        (
            [(0, 10, 0, 10), (2, 10, 10, 0), (4, 10, 30, 20)],
            [(2, 10, 10, 0), (0, 10, 0, 10), (4, 10, 30, 20)],
        )
    ]
    text = "slowest rank: all edges of a 3 x 2 grid at once; GB/s out of a rank with 3 neighbours"
    assert said("halo", Shape(6), 10) == (1, 30, text, [("both ways", 60, "GB/s")])


def peers(rank: int, ranks: int, **options: Any) -> list[int]:
    [(sends, _)] = plan("halo", rank, Shape(ranks, options), 8)
    return [peer for peer, *_ in sends]


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
    assert f"of a {grid} grid" in said("halo", Shape(ranks, {"columns": columns}), 8)[2]


@given(st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_the_figure_of_a_halo_is_that_of_a_rank_with_the_most_neighbours(
    columns: int, rows: int, periodic: bool
) -> None:
    ranks = columns * rows
    most = max(len(peers(rank, ranks, columns=columns, periodic=periodic)) for rank in range(ranks))
    shape = Shape(ranks, {"columns": columns, "periodic": periodic})
    assert said("halo", shape, 100)[1] == 100 * most


def test_grids_that_cannot_be() -> None:
    halo = find_pattern("halo")
    assert halo.refuse(Shape(6, {"columns": 3})) is None and halo.refuse(Shape(2)) is None
    assert halo.refuse(Shape(6, {"columns": 4})) == "6 ranks do not fill rows of 4"
    assert halo.refuse(Shape(1)) == "halo takes two ranks or more"


# ---- copies ---------------------------------------------------------------------------------------------


def test_copies_alone_and_all_at_once() -> None:
    """Protects the reported part: the last one, in which all ranks copy; before it each has one to itself."""
    copy, shape = find_pattern("copy"), Shape(3)
    assert copy.phases(shape) == 4 and copy.reported_phase(shape) == 3
    own = [(1, 100, 0, 0)]
    assert [plan("copy", 1, shape, 100, part) for part in range(4)] == [[], [(own, own)], [], [(own, own)]]
    teams = [copy.team(1, shape, part) for part in range(4)]
    assert [team and (team.name, tuple(team.ranks)) for team in teams] == [
        None,
        ("rank 1 alone", (1,)),
        None,
        ("rank 1 with all", (1,)),
    ]
    assert copy.extent(1, shape, 100) == 100
    text = "one copy: until it is done, slowest of 3 ranks that copy at once; GB/s of one rank"
    assert said("copy", shape, 100) == (1, 100, text, [("all ranks", 300, "GB/s")])


def test_two_ranks_copy_alone_before_they_copy_together() -> None:
    copy, shape = find_pattern("copy"), Shape(2)
    teams = [copy.team(0, shape, part) for part in range(copy.phases(shape))]
    assert [team and team.name for team in teams] == ["rank 0 alone", None, "rank 0 with all"]


def test_one_rank_copies_once() -> None:
    copy, shape = find_pattern("copy"), Shape(1)
    assert copy.refuse(shape) is None
    assert copy.phases(shape) == 1 and copy.reported_phase(shape) == 0
    team = copy.team(0, shape)
    assert team and team.name == "rank 0 with all"
    assert said("copy", shape, 100) == (1, 100, "one copy: until it is done", [])
