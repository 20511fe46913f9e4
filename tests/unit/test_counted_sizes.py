"""Which sizes are counted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden

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


def some(*protocols: str) -> list[int]:
    """Of four sizes, of which the last two take long."""
    return counted([8, 64, 512, 4096], lambda size: "direct", [*protocols], [0.01, 0.02, 0.3, 0.6])


LOW_LATENCY = ["LL" if size <= 512 else "pull" for size in POWERS]
CASES: dict[str, Callable[[], list[int]]] = {
    "the same everywhere: nobody learns anything from the sizes between": lambda: counted(
        POWERS, lambda size: "direct"
    ),
    "direct from 4 KiB: the last size before, too": lambda: counted(
        POWERS, lambda size: "direct" if size >= 4096 else "unknown"
    ),
    "the largest size of each protocol": lambda: counted(POWERS, lambda size: "direct", LOW_LATENCY),
    "the largest size cannot be counted": lambda: counted(
        POWERS, lambda size: None if size == 1 << 30 else "direct"
    ),
    "empty messages cross no wire": lambda: counted([0, 8], lambda size: ""),
    "alone they are counted, so that the record is there": lambda: counted([0], lambda size: ""),
    "what takes long is left out": lambda: some("", "", "", ""),
    "unless it moves otherwise": lambda: some("", "", "", "other"),
}


def test_which_sizes(golden: Golden) -> None:
    """Protects the user's time, and each verdict from a size that nobody has seen."""
    golden("evidence/counted_sizes", {case: make() for case, make in CASES.items()})


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
