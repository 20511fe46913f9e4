"""Which sizes are counted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.rank.observe.counted_sizes import STRIDE, sizes_to_count, worth_counting

POWERS = [1 << power for power in range(31)]


def counted(
    sizes: list[int],
    verdict: Callable[[int], str | None],
    protocols: list[str] | None = None,
    seconds: list[float] | None = None,
) -> list[int]:
    some = protocols or [""] * len(sizes)
    order = worth_counting(sizes, some, seconds or [0.001] * len(sizes))
    plan, found = sizes_to_count(sizes, some, order), []
    index = next(plan, None)
    while index is not None:
        found.append(sizes[index])
        try:
            index = plan.send(verdict(sizes[index]))
        except StopIteration:
            index = None
    return found


def test_a_path_that_is_the_same_everywhere() -> None:
    """Protects the user's time: nobody learns anything from the sizes between."""
    found = sorted(counted(POWERS, lambda size: "direct"))
    assert found == [1, 64, 1 << 12, 1 << 18, 1 << 24, 1 << 30]


def test_where_the_verdict_changes() -> None:
    """Protects "from 4 KiB direct": the last size before is counted, too."""
    found = counted(POWERS, lambda size: "direct" if size >= 4096 else "unknown")
    assert {2048, 4096} <= set(found) and len(found) <= 12


def test_the_largest_size_of_each_protocol() -> None:
    """Protects from a protocol whose bytes nobody has seen."""
    protocols = ["LL" if size <= 512 else "pull" for size in POWERS]
    assert {512, 1 << 30} <= set(counted(POWERS, lambda size: "direct", protocols))


def test_sizes_that_cannot_be_counted() -> None:
    """Protects from counting everywhere because one size does not work."""
    assert len(counted(POWERS, lambda size: None if size == 1 << 30 else "direct")) <= 9


def test_empty_messages() -> None:
    """Protects time: they cross no wire. Alone they are counted, so that the record is there."""
    assert counted([0, 8], lambda size: "") == [8]
    assert counted([0], lambda size: "") == [0]


@given(st.lists(st.integers(1, 1 << 40), unique=True, max_size=40), st.data())
def test_every_change_is_found_between_neighbours(sizes: list[int], data: st.DataObject) -> None:
    """Protects any list of sizes: none twice, the ends always, and no unseen gap between two verdicts."""
    verdicts = {size: data.draw(st.sampled_from(["a", "b"])) for size in sizes}
    found = counted(sizes, verdicts.__getitem__)
    assert len(set(found)) == len(found) and set(found) <= set(sizes)
    if not sizes:
        return
    assert {min(sizes), max(sizes)} <= set(found)
    every = sorted(sizes)
    for low, high in pairwise(sorted(found)):
        between = every.index(high) - every.index(low) - 1
        assert between == 0 or (
            verdicts[low] == verdicts[high] and every[every.index(low) + 1] * STRIDE > high
        )


@pytest.mark.parametrize(
    ("protocols", "expected"),
    [(["", "", "", ""], [8, 64]), (["", "", "", "other"], [8, 512, 4096])],
)
def test_what_takes_long_is_left_out_if_it_moves_like_the_rest(
    protocols: list[str], expected: list[int]
) -> None:
    """Protects time: a counted iteration of 1 GiB through host memory takes 0.7 s."""
    found = counted([8, 64, 512, 4096], lambda size: "direct", protocols, [0.01, 0.02, 0.3, 0.6])
    assert found == expected
