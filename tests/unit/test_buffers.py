"""Buffers: what a path packs lists into counts in what fits, and what is said to fit does."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wirespeed.job.messages import FILLING, Progress
from wirespeed.patterns import Shape, find_pattern
from wirespeed.patterns.rules import Timing
from wirespeed.rank.context import Unusable
from wirespeed.rank.path.buffers import Buffers
from wirespeed.rank.path.open_path import ALL_AT_ONCE, AT_ONCE, LONG_TO_FILL, Item, OpenPath, taking_turns
from wirespeed.units import parse_size

LIMIT = 3 << 20


def buffers(total: int, *, packs: bool, ranks: int = 2) -> Any:
    comm = SimpleNamespace(rank=0, maximum=lambda mine: mine)
    shape = Shape(ranks, {"total": total}, memory=LIMIT)
    context = SimpleNamespace(
        core=SimpleNamespace(lib=None),
        comm=comm,
        pattern=find_pattern("blocks").at(shape),
        shape=shape,
        offset=0,
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
        "each rank needs two buffers of 3 MiB and 2 MiB to pack blocks, and there is free memory for "
        "two of 3 MiB: --total 512K fits"
    )
    assert fits(buffers(parse_size("512K"), packs=True)) is None


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_what_is_said_to_fit_beside_packing_does(ranks: int) -> None:
    said = fits(buffers(1 << 30, packs=True, ranks=ranks))
    assert said is not None
    total = said.rpartition("--total ")[2].removesuffix(" fits")
    assert fits(buffers(parse_size(total), packs=True, ranks=ranks)) is None


def items(*sizes: int) -> list[Item]:
    """Sizes whose buffers are as large."""
    return [Item(size, place, sizes) for place, size in enumerate(sizes)]


def groups(*sizes: str, long_too: bool, loops: int | None = None) -> list[int]:
    """How many sizes take turns together."""
    pattern = SimpleNamespace(timing=Timing())
    plan = SimpleNamespace(stopping=SimpleNamespace(loops=loops))
    context: Any = SimpleNamespace(plan=plan, pattern=pattern)
    every = items(*map(parse_size, sizes))
    found = [*taking_turns(context, every, long_too=long_too)]
    assert [item for group in found for item in group] == every
    return [len(group) for group in found]


def test_sizes_take_turns_with_what_shares_their_buffers() -> None:
    """Protects short messages from waiting for long ones, and the time that those would wait alone."""
    sizes = ("8", "1M", "2M", "64M", "128M", "1G")
    assert groups(*sizes, long_too=False) == [4, 1, 1], "CPUs take long for the longest"
    assert groups(*["8"] * AT_ONCE, *sizes[2:], long_too=False) == [AT_ONCE, 2, 1, 1]
    assert groups(*sizes, long_too=True) == [6]
    assert groups(*sizes, long_too=True, loops=50) == [1] * 6
    assert groups(*["8"] * (AT_ONCE + 1), long_too=False) == [12, 13], "none is left alone"
    assert groups(*["8"] * (ALL_AT_ONCE - 1), "1G", long_too=True) == [ALL_AT_ONCE], "a default run's sizes"
    assert groups(*["8"] * ALL_AT_ONCE, "1G", long_too=True) == [16, 17]


def test_a_size_without_buffers_is_measured_alone_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects small sizes from waiting for their moments alone where the largest get no memory."""
    context: Any = SimpleNamespace(
        plan=SimpleNamespace(stopping=SimpleNamespace(loops=None)),
        pattern=SimpleNamespace(timing=Timing()),
        comm=SimpleNamespace(share=lambda value: value),
        time=None,
    )
    path: Any = SimpleNamespace(cpu_moves=False)
    opened = OpenPath(context, cast("Any", None), path, cast("Any", None), cast("Any", None), None)
    every = items(8, 1 << 20, 1 << 30, 1 << 34, 1 << 34)

    def hold(room: int, item: Item, begins: Item) -> None:
        assert begins.place <= item.place, "the first of those that take turns"
        if item.need > room:
            raise Unusable("no memory")

    for room, expected in (
        (1 << 34, [[0, 1, 2, 3, 4]]),
        (1 << 30, [[0, 1, 2], [3], [4]]),
        (8, [[0], [1], [2], [3], [4]]),
        (0, [[0], [1], [2], [3], [4]]),
    ):
        monkeypatch.setattr(opened, "_hold", partial(hold, room))
        assert [[item.place for item in group] for group in opened._groups(every)] == expected


@pytest.mark.parametrize(
    ("largest", "first", "told"), [(LONG_TO_FILL, 1, [FILLING]), (1 << 20, 1, []), (LONG_TO_FILL, None, [])]
)
def test_long_buffers_are_told_of(
    largest: int, first: int | None, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from a minute of "64 B: 3.80 us so far" while 20 GB of memory were filled.

    And from trials and counting that are told as if sizes began: there is no `first` one.
    """
    found = list[Progress]()
    context: Any = SimpleNamespace(tell=found.append, ranges=lambda *_: nullcontext())
    held: Any = SimpleNamespace(hold=lambda need, needs, waits, size: waits(need))
    path: Any = SimpleNamespace(name="host")
    opened = OpenPath(context, cast("Any", None), path, cast("Any", None), held, None)
    monkeypatch.setattr(opened, "_patient", lambda size, most: None)
    every = items(8, 64, largest)
    opened._hold(every[2], None if first is None else every[first])
    assert [progress.doing for progress in found] == told
    assert all((progress.bytes, progress.place, progress.of) == (64, 1, 3) for progress in found)
