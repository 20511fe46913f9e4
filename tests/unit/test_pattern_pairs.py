"""Rounds of pairs worked out by hand, and the random choice among them."""

from __future__ import annotations

from collections import Counter

import pytest

from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.pairs import meets, nth_pair, shuffled


def teams(shape: Shape) -> list[set[tuple[int, ...]]]:
    """The pairs of each part."""
    pairs = find_pattern("pairs")
    return [
        {tuple(team.ranks) for rank in range(shape.ranks) if (team := pairs.team(rank, shape, part))}
        for part in range(pairs.phases(shape))
    ]


def test_four_ranks_meet_in_three_rounds() -> None:
    """The circle method: rank 3 stays, and in round n the others meet whose sum is n (modulo 3)."""
    assert teams(Shape(4)) == [{(0, 3), (1, 2)}, {(0, 1), (2, 3)}, {(0, 2), (1, 3)}]


def test_one_of_three_ranks_pauses() -> None:
    assert [[meets(rank, number, 3) for rank in range(3)] for number in range(3)] == [
        [None, 2, 1],
        [1, 0, None],
        [2, None, 0],
    ]


def test_the_last_rank_and_its_partner_agree_in_every_round() -> None:
    """Protects the rank that stays: it meets whom the others leave over, however the rounds are counted."""
    for number in range(21):
        last = meets(7, number, 8)
        assert last is not None and meets(last, number, 8) == 7 and 2 * last % 7 == number % 7


def test_one_pair_at_a_time() -> None:
    every = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [nth_pair(number, 4) for number in range(6)] == every
    assert teams(Shape(4, {"alone": True})) == [{pair} for pair in every]


def test_a_pair_plays_ping_pong() -> None:
    pairs, shape = find_pattern("pairs"), Shape(4, {"alone": True})

    def plan(rank: int) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        steps = pairs.steps(rank, shape, 100, 3)
        return [
            ([(t.peer, t.bytes) for t in s.sends], [(t.peer, t.bytes) for t in s.receives]) for s in steps
        ]

    assert plan(1) == [([(2, 100)], []), ([], [(2, 100)])]
    assert plan(2) == [([], [(1, 100)]), ([(1, 100)], [])]
    assert plan(0) == [] and pairs.team(0, shape, 3) is None
    team = pairs.team(2, shape, 3)
    assert team and (team.name, team.ranks) == ("1-2", (1, 2))
    # A rank that pauses has buffers all the same: other parts need them.
    assert pairs.extent(0, shape, 100) == 100


def test_what_a_pair_s_figure_is() -> None:
    pairs = find_pattern("pairs")
    for options, how in (({}, "disjoint pairs at once"), ({"alone": True}, "one pair at a time")):
        figure = pairs.figure(Shape(4, options), 100)
        assert (figure.divisor, figure.bytes) == (2, 100)
        assert figure.definition == f"slowest pair: half of a round trip, {how}"
    assert not pairs.by_size
    assert pairs.refuse(Shape(2)) is None and pairs.refuse(Shape(1)) == "pairs takes two ranks or more"


@pytest.mark.parametrize("alone", [False, True])
def test_a_sample_is_some_of_the_parts_and_never_one_twice(alone: bool) -> None:
    every = teams(Shape(6, {"alone": alone}))
    chosen = teams(Shape(6, {"alone": alone, "sample": 4}))
    assert len(chosen) == 4 and all(part in every for part in chosen)
    assert len({frozenset(part) for part in chosen}) == 4
    # More than there are: all of them.
    whole = teams(Shape(6, {"alone": alone, "sample": 15 if alone else 5}))
    assert len(whole) == len(every) == (15 if alone else 5) and all(part in whole for part in every)


def test_without_a_seed_the_seed_is_one() -> None:
    shape = Shape(12, {"sample": 6})
    assert (
        teams(shape)
        == teams(Shape(12, {"sample": 6, "seed": 1}))
        != teams(Shape(12, {"sample": 6, "seed": 2}))
    )


def test_every_order_begins_anywhere() -> None:
    """Protects the choice from favourites: over many seeds each round comes first about equally often."""
    first = Counter(shuffled(0, 10, seed) for seed in range(2_000))
    assert sorted(first) == list(range(10)) and all(140 <= often <= 260 for often in first.values())
    # Two places next to each other do not follow each other: of 10, one in 9 would by chance.
    follow = sum(shuffled(1, 10, seed) == (shuffled(0, 10, seed) + 1) % 10 for seed in range(2_000))
    assert 140 <= follow <= 320


def test_a_seed_chooses_the_same_rounds_in_every_release() -> None:
    """Protects comparisons: what was sampled for a file last year is sampled again."""
    for every in (
        [2, 0, 1],
        [4, 9, 3, 7, 6, 2, 1, 0, 8, 5],
        [4, 14, 3, 7, 6, 10, 1, 0, 15, 5, 11, 12, 13, 2, 9, 8],
        [6, 13, 7, 4, 19, 17, 0, 16, 10, 5, 14, 15, 8, 12, 3, 11, 9, 2, 1, 18],
    ):
        assert [shuffled(place, len(every), 1) for place in range(len(every))] == every
    assert [shuffled(place, 1000, 7) for place in range(5)] == [288, 517, 133, 523, 16]
    assert [shuffled(place, 10**9, 1) for place in range(3)] == [979576099, 774035720, 897802583]


@pytest.mark.parametrize(("alone", "phases"), [(False, 5), (True, 15)])
def test_a_sample_of_more_phases_than_there_are(alone: bool, phases: int) -> None:
    assert find_pattern("pairs").refuse(Shape(6, {"alone": alone, "sample": phases})) is None
    refusal = find_pattern("pairs").refuse(Shape(6, {"alone": alone, "sample": phases + 1}))
    assert refusal == f"--sample {phases + 1}: 6 ranks make {phases} phases; write at most {phases}"


def test_one_rank_and_all_others() -> None:
    """Protects --fan: who sends to whom in which phase, whose clock counts, and that nothing overlaps."""
    pairs, shape = find_pattern("pairs"), Shape(4, {"fan": "both"})
    assert (pairs.phases(shape), pairs.phases(Shape(4, {"fan": "in"}))) == (8, 4)
    out, back = pairs.team(0, shape, 2), pairs.team(0, shape, 6)
    assert out and back and (out.name, back.name) == ("rank 2 to all", "all to rank 2")
    # The first rank's clock is the figure.
    assert out.ranks == back.ranks == (2, 3, 0, 1)
    center = pairs.steps(2, shape, 8, 2)[0]
    assert [(one.peer, one.offset) for one in center.sends] == [(3, 0), (0, 8), (1, 16)]
    assert [(one.peer, one.offset) for one in pairs.steps(2, shape, 8, 6)[0].receives] == [
        (3, 0),
        (0, 8),
        (1, 16),
    ]
    assert pairs.steps(1, shape, 8, 6)[0].sends[0].remote_offset == 16
    assert pairs.extent(1, shape, 8) == 24 and pairs.figure(shape, 8).bytes == 24
    refused = "--fan measures one rank and all others: leave out --alone and --sample"
    assert pairs.refuse(Shape(4, {"fan": "out", "sample": 1})) == refused and pairs.refuse(shape) is None
