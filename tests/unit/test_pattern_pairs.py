"""Rounds of pairs worked out by hand, and the random choice among them."""

from __future__ import annotations

from collections import Counter

import pytest

from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.pairs import meets, shuffled


def teams(shape: Shape) -> list[set[tuple[int, ...]]]:
    """The pairs of each part."""
    pairs = find_pattern("pairs")
    job = pairs.at(shape)
    return [
        {tuple(team.ranks) for rank in range(shape.ranks) if (team := job.team(rank, part))}
        for part in range(job.timing.phases)
    ]


def test_the_last_rank_and_its_partner_agree_in_every_round() -> None:
    """Protects the rank that stays: it meets whom the others leave over, however the rounds are counted."""
    for number in range(21):
        last = meets(7, number, 8)
        assert last is not None and meets(last, number, 8) == 7 and 2 * last % 7 == number % 7


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
