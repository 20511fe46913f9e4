"""Each pattern's plan, figure and rounds in small worlds; the golden file was worked out by hand."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden

from wirespeed.frontend.order import completed
from wirespeed.job.plan import Plan
from wirespeed.patterns import Shape, Transfer, find_pattern
from wirespeed.patterns.pairs import meets, shuffled
from wirespeed.patterns.ring import Ring
from wirespeed.patterns.rma import Rma

HUNDRED: tuple[tuple[str, int, dict[str, Any], list[int]], ...] = (
    ("pingpong", 2, {}, [0, 1]),
    ("exchange", 2, {}, [0, 1]),
    ("stream", 2, {"window": 2}, [0, 1]),
    ("stream", 2, {"window": 2, "both_ways": True}, [1]),
    ("groups", 6, {"group": 2}, [3]),
    ("groups", 4, {}, [0]),
    ("ring", 4, {}, [1]),
    ("halo", 6, {}, [1]),
    ("halo", 2, {}, [0]),
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
    *(("groups", ranks, {"group": group}) for ranks, group in ((6, 3), (6, 4), (8, 5), (2, 3), (6, 6))),
    *(("ring", ranks, {"steps": steps} if steps else {}) for ranks, steps in ((2, 0), (1, 0), (2, 3))),
    *(("halo", ranks, {"columns": n} if n else {}) for ranks, n in ((6, 3), (2, 0), (6, 4), (1, 0))),
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


def one_sided() -> Iterator[str]:
    """Their sizes, and how they are checked; a load's links are cache lines."""
    for operation in ("put", "get", "fetch-add", "load"):
        job = find_pattern("rma").at(Shape(2, {"operation": operation}))
        checks = f"sums {job.checking.sums is not None}, links {job.checking.links is not None}"
        sizes = f"fixed {job.size_rule.fixed}, else {job.size_rule.chosen()}"
        yield f"{operation}: {checks}, sizes {sizes}, {[job.extent(1, size) for size in (1, 1000)]} B"
    yield f"links of 1, 383, 384 B, 1 MiB: {[Rma.links(size) for size in (1, 383, 384, 1 << 20)]}"


def windows() -> Iterator[str]:
    """As large as memory lets them be; a message of no bytes takes none."""
    sizes = ((1000, 300), (1000, 500), (1000, 1000), (1000, 4096), (1000, 1), (1000, 0), (None, 300))
    for memory, size in sizes:
        job = find_pattern("stream").at(Shape(2, {}, memory))
        held, figure = len(job.steps(0, size)[0].sends), job.figure(size)
        yield f"{size} B in {memory} B: {held}, {figure.bytes} B, {figure.definition}"


def rings() -> Iterator[str]:
    """Of whole doubles, gone round in an even number of steps; and groups count words of 32 bytes."""
    ring, groups = find_pattern("ring"), find_pattern("groups")
    for size in (0, 1, 8, 15, 16, 20):
        yield f"{size} B move {ring.at(Shape(2)).steps(0, size)[0].sends[0].bytes} B"
    for ranks in (2, 3, 4, 63, 65, 200):
        yield f"{ranks} ranks: {len(ring.at(Shape(ranks)).steps(0, 8))} steps"
    for options in ({"count": 4}, {}):
        yield f"groups of {options}: {groups.at(Shape(2, options)).size_rule.fixed}"


def grids() -> Iterator[str]:
    """As square as can be; of 3 x 3 the middle and corners; of two columns both neighbours are one rank."""
    for ranks, columns in ((6, None), (7, None), (36, None), (48, None), (6, 2)):
        job = find_pattern("halo").at(Shape(ranks, {"columns": columns}))
        yield f"{ranks} ranks in {columns} columns: {job.figure(8).definition}"
    places: list[tuple[int, int, dict[str, Any]]] = [
        *((rank, 9, {"periodic": around}) for around in (False, True) for rank in (0, 4, 8)),
        *((0, 2 + columns, {"columns": columns, "periodic": True}) for columns in (2, 1)),
    ]
    for rank, ranks, options in places:
        yield f"rank {rank} of {ranks}, {options}: to {peers(rank, ranks, **options)}"


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
    texts |= {"windows": "\n".join(windows()), "rings": "\n".join(rings()), "grids": "\n".join(grids())}
    texts["one-sided"] = "\n".join(one_sided())
    golden("patterns/plans", texts)


def test_sums_of_a_ring() -> None:
    """Protects the check: once round four ranks adds 1 + 2 + 3 + 4; two places more, what their ranks add."""
    once, further = (Ring().at(Shape(4, {"steps": steps})).sums(1, 8) for steps in (None, 6))
    assert (once.bytes, once.before, once.after, once.offset) == (8, 1e6, 1e6 + 10, 0)
    # Six places back from rank 1 stands rank 3; on the way once more are ranks 0 and 1, which add 1 and 2.
    assert (further.before, further.after) == (1e6, 3e6 + 10 + 3)


def peers(rank: int, ranks: int, **options: Any) -> list[int]:
    (step,) = find_pattern("halo").at(Shape(ranks, options)).steps(rank, 8)
    return [one.peer for one in step.sends]


@given(st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_the_figure_of_a_halo_is_that_of_a_rank_with_the_most_neighbours(
    columns: int, rows: int, periodic: bool
) -> None:
    ranks = columns * rows
    most = max(len(peers(rank, ranks, columns=columns, periodic=periodic)) for rank in range(ranks))
    shape = Shape(ranks, {"columns": columns, "periodic": periodic})
    assert find_pattern("halo").at(shape).figure(100).bytes == 100 * most


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


def test_a_fetch_and_add_adds_one() -> None:
    """Protects its check: to add 1 to the bits adds 1 to the number, after thousands of iterations, too."""
    fetched, word = (Rma.sums(rank, 8) for rank in (0, 1))
    assert fetched.after == word.before and word.after == word.before + 1
    many = [Rma.sums(rank, 8, iterations=7) for rank in (0, 1)]
    assert [one.after - word.before for one in many] == [6, 7]
    for start in (word.before, word.before + 100_000):
        (bits,) = struct.unpack("<q", struct.pack("<d", start))
        assert struct.unpack("<d", struct.pack("<q", bits + 1)) == (start + 1,)


def test_sizes_take_turns_where_iterations_leave_nothing_behind() -> None:
    """Protects a chain, a word that counts and a field from another size's bytes between two batches."""
    for name, options, together in (
        ("pingpong", {}, True),
        ("rma", {"operation": "put"}, True),
        ("rma", {"operation": "load"}, False),
        ("rma", {"operation": "fetch-add"}, False),
        ("jacobi", {}, False),
        ("pairs", {}, False),
    ):
        assert find_pattern(name).at(Shape(4, options)).timing.takes_turns == together, (name, options)


def test_defaults_of_programs_depend_on_the_device() -> None:
    """Protects a CPU from a field that takes it minutes; what the user says stands."""
    for kind, expected in (("cuda", ("4096x4096", 1000)), ("host", ("1024x1024", 200))):
        plan = completed(Plan(pattern="jacobi"), 1, kind)
        assert (dict(plan.options)["size"], dict(plan.options)["steps"]) == expected
    plan = completed(Plan(pattern="jacobi", options=(("size", "64x64"), ("steps", 8))), 1, "cuda")
    assert (dict(plan.options)["size"], dict(plan.options)["steps"]) == ("64x64", 8)
