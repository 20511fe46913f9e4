"""Patterns are pure functions: what one rank sends another one expects, whatever the world looks like."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from wirespeed.patterns import Pattern, Place, Shape, Step, Transfer, all_patterns, find_pattern
from wirespeed.patterns.pairs import meets, shuffled
from wirespeed.patterns.ring import Ring
from wirespeed.rank.context import Wanted
from wirespeed.rank.program import Program

SIZES = st.sampled_from([0, 1, 7, 8, 4096, 1 << 30])


@pytest.fixture(scope="module")
def custom_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("custom") / "mine.csv"
    file.write_text("step,from,to,bytes\n0,0,1,4K\n0,0,1,7\n0,1,0,8\n1,1,0,64K\n")
    return str(file)


def lists(draw: Any) -> Any:
    """Options of lists of blocks."""
    return draw(
        st.one_of(
            st.fixed_dictionaries(
                {
                    "count": st.integers(0, 40),
                    "layout": st.sampled_from(["random", "strided", "contiguous"]),
                    "seed": st.integers(0, 9),
                }
            ),
            st.just({"kv": "qwen2.5-7b:tp=4", "layers": True, "count": 3}),
        )
    )


def options_of(name: str, draw: Any, ranks: int, file: str) -> dict[str, Any]:
    """Options that the pattern may be given in a world of so many ranks."""
    divisors = [n for n in range(1, ranks // 2 + 1) if ranks % n == 0]
    found: dict[str, Callable[[], dict[str, Any]]] = {
        "groups": lambda: {"group": draw(st.sampled_from(divisors))},
        "stream": lambda: {
            "window": draw(st.integers(1, 80)),
            "both_ways": draw(st.booleans()),
            "pairs": ranks // 2,
        },
        "halo": lambda: {
            "columns": draw(st.sampled_from([None, 1, ranks, *divisors])),
            "periodic": draw(st.booleans()),
        },
        "pairs": lambda: draw(
            st.one_of(
                st.fixed_dictionaries({"fan": st.sampled_from(["out", "in", "both"])}),
                st.fixed_dictionaries(
                    {
                        "alone": st.booleans(),
                        "sample": st.sampled_from([None, 1, 3] if ranks > 3 else [None, 1]),
                        "seed": st.integers(0, 9),
                    }
                ),
            )
        ),
        "pairing": lambda: {"at_once": draw(st.sampled_from([None, 1, 3]))},
        "ring": lambda: {"steps": draw(st.sampled_from([None, 2, 6, 10]))},
        "blocks": lambda: lists(draw),
        "offload": lambda: lists(draw),
        "custom": lambda: {"file": file},
        "rma": lambda: {"operation": draw(st.sampled_from(["put", "get", "fetch-add", "load"]))},
        "copy": lambda: {"both_ways": draw(st.booleans())},
        "jacobi": lambda: {
            **plane(draw, ranks, divisors),
            "edges": draw(st.sampled_from(["periodic", "fixed"])),
            "norm_every": draw(st.integers(0, 9)),
        },
        "lbm": lambda: {
            **plane(draw, ranks, divisors),
            "case": draw(st.sampled_from(["heat", "rayleigh-taylor"])),
        },
    }
    return found[name]() if name in found else {}


def plane(draw: Any, ranks: int, divisors: list[int]) -> dict[str, Any]:
    """How a program is divided."""
    return {
        "size": f"{12 * ranks}x{4 * ranks}",
        "scaling": draw(st.sampled_from(["weak", "strong"])),
        "columns": draw(st.sampled_from([None, 1, ranks, *divisors])),
        "overlap": draw(st.sampled_from(["yes", "no"])),
    }


def parts(transfers: Iterable[Transfer]) -> Iterator[Transfer]:
    """The transfers, those of lists block by block."""
    for transfer in transfers:
        yield from transfer.parts


def flows(steps: list[Step], rank: int) -> Iterator[tuple[bool, int, tuple[int, int, int]]]:
    """(sends?, peer, (bytes, place at the sender, place at the receiver)) in order."""
    for step in steps:
        for out in parts(step.sends):
            yield True, out.peer, (out.bytes, out.offset, out.remote_offset)
        for into in parts(step.receives):
            yield False, into.peer, (into.bytes, into.remote_offset, into.offset)


def all_flows(pattern: Pattern, shape: Shape, size: int, part: int) -> int:
    """Holds both ends of everything against each other; all bytes sent."""
    job = pattern.at(shape)
    sent: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    received: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for rank in range(shape.ranks):
        steps = job.steps(rank, size, part)
        for sends, peer, what in flows(steps, rank):
            assert 0 <= peer < shape.ranks
            assert (peer == rank) == pattern.kind.intra_rank, "no rank sends to itself"
            key = (rank, peer) if sends else (peer, rank)
            (sent if sends else received).setdefault(key, []).append(what)
        extent = job.extent(rank, size)
        for step in steps:
            for transfer in parts((*step.sends, *step.receives)):
                assert transfer.offset + transfer.bytes <= extent
            places = sorted((t.offset, t.offset + t.bytes) for t in parts(step.receives) if t.bytes)
            assert all(end <= start for (_, end), (start, _) in pairwise(places))
    # Between two ranks messages match in order.
    assert sent == received
    return sum(size for flow in sent.values() for size, _, _ in flow)


@pytest.mark.parametrize("name", all_patterns())
@given(data=st.data())
@examples(60)
def test_every_send_has_its_receive(name: str, custom_file: str, data: st.DataObject) -> None:
    """Protects every pattern, over random worlds, options, sizes, and memory too small for a window."""
    pattern = find_pattern(name)
    ranks = pattern.rank_rule.exact or data.draw(st.integers(2, 13))
    if name == "stream":
        ranks = 2 * data.draw(st.integers(1, 6))
    shape = Shape(
        ranks,
        options_of(name, data.draw, ranks, custom_file),
        data.draw(st.sampled_from([None, 1 << 20, 1 << 40])),
    )
    job = pattern.at(shape)
    assert job.refuse() is None
    size = data.draw(SIZES)
    part = data.draw(st.integers(0, job.timing.phases - 1))
    total = all_flows(pattern, shape, size, part)
    figure = job.figure(size)
    teams = {team.name: team for r in range(ranks) if (team := job.team(r, part))}
    members = [rank for team in teams.values() for rank in team.ranks]
    assert len(set(members)) == len(members), "no rank is in two teams"
    if name == "groups":
        width, count = shape.options["group"], ranks // shape.options["group"]
        assert total == ranks * (count - 1) * size == count * figure.bytes
        assert figure.derived[0].amount == 2 * figure.bytes
        assert len(teams) == count and all(len(team.ranks) == width for team in teams.values())
    if name == "ring":
        assert total == ranks * figure.bytes
    if name == "stream":
        assert total == figure.bytes * (2 if shape.options["both_ways"] else 1)
    if name == "custom":
        assert total == figure.bytes
    if name == "blocks":
        assert total == (2 if ranks == 2 else 1) * figure.bytes, "a list there and one back, or one to each"
    if shape.options.get("fan"):
        assert total == figure.bytes and len(members) == ranks
    if name in ("copy", "offload"):
        assert total == figure.bytes * len(members)


def reachable(pairs: set[tuple[int, int]], first: int) -> set[int]:
    """All that messages lead to from `first` on, itself included."""
    known, new = {first}, {first}
    while new:
        new = {receiver for sender, receiver in pairs if sender in new} - known
        known |= new
    return known


def heard_of_nobody(pattern: Pattern, shape: Shape, size: int, part: int = 0) -> set[tuple[int, int]]:
    """(sender, receiver) of messages from whose receiver none leads back to the sender."""
    pairs = {
        (rank, transfer.peer)
        for rank in range(shape.ranks)
        for step in pattern.at(shape).steps(rank, size, part)
        for transfer in step.sends
    }
    return {(sender, receiver) for sender, receiver in pairs if sender not in reachable(pairs, receiver)}


# A root does run ahead of those that it sends to, in all libraries' loops too: the figure says so. One-sided
# operations are complete at the target, before the next one begins, without its answer.
@pytest.mark.parametrize(
    "name", [name for name in all_patterns() if name not in ("broadcast", "reduce", "rma")]
)
@given(data=st.data())
@examples(30)
def test_no_rank_can_run_ahead_of_its_receivers(name: str, custom_file: str, data: st.DataObject) -> None:
    """Protects every pattern's time: a sender that hears of nobody is timed by the gap between messages."""
    pattern = find_pattern(name)
    ranks = pattern.rank_rule.exact or data.draw(st.integers(2, 9))
    if name == "stream":
        ranks = 2 * data.draw(st.integers(1, 4))
    shape = Shape(ranks, options_of(name, data.draw, ranks, custom_file), None)
    part = data.draw(st.integers(0, pattern.at(shape).timing.phases - 1))
    assert not heard_of_nobody(pattern, shape, data.draw(SIZES), part)


PAIRS = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])


@given(pairs=st.lists(PAIRS, min_size=1, max_size=12))
@examples(150)
def test_one_way_transfers_of_a_file_are_answered_and_no_others(
    pairs: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Protects a file in which a rank only sends: its round ends with empty answers, one of each receiver."""
    file = tmp_path_factory.mktemp("custom") / "mine.csv"
    file.write_text("step,from,to,bytes\n" + "".join(f"0,{s},{r},8\n" for s, r in pairs))
    custom, shape = find_pattern("custom"), Shape(6, {"file": str(file)})
    job = custom.at(shape)
    assert not heard_of_nobody(custom, shape, 8)
    one_way = {(s, r) for s, r in pairs if s not in reachable(set(pairs), r)}
    answers = [
        (rank, out.peer)
        for rank in range(6)
        for step in job.steps(rank, 8)[1:]
        for out in step.sends
        if out.bytes == 0
    ]
    assert sorted(answers) == sorted((r, s) for s, r in one_way)
    definition = job.figure(8).definition
    words = {0: "in 1 step;", 1: "in 1 step, and an empty answer;"}
    assert words.get(len(one_way), f", and {len(one_way)} empty answers;") in definition


@given(ranks=st.integers(2, 40))
@examples(40)
def test_rounds_of_pairs_are_disjoint_and_complete(ranks: int) -> None:
    """Protects the matrix: everybody meets everybody, once, and nobody is in two pairs of a round."""
    pairs = find_pattern("pairs")
    shape, met = Shape(ranks), Counter[tuple[int, int]]()
    job = pairs.at(shape)
    assert job.timing.phases == (ranks - 1 if ranks % 2 == 0 else ranks)
    for number in range(job.timing.phases):
        idle = 0
        for rank in range(ranks):
            other = meets(rank, number, ranks)
            if other is None:
                idle += 1
                continue
            assert other != rank and meets(other, number, ranks) == rank
            met[min(rank, other), max(rank, other)] += 1
        assert idle == ranks % 2
    assert len(met) == ranks * (ranks - 1) // 2 and set(met.values()) == {2}
    alone = Shape(ranks, {"alone": True})
    job = pairs.at(alone)
    found = {
        tuple(team.ranks)
        for part in range(job.timing.phases)
        for rank in range(ranks)
        if (team := job.team(rank, part))
    }
    assert len(found) == job.timing.phases == ranks * (ranks - 1) // 2


@given(count=st.integers(1, 300), seed=st.integers(0, 1000))
@examples(60)
def test_random_rounds_are_never_the_same_twice(count: int, seed: int) -> None:
    assert sorted(shuffled(place, count, seed) for place in range(count)) == list(range(count))


@given(
    ranks=st.integers(2, 9),
    steps=st.sampled_from([None, 2, 4, 10, 26]),
    size=st.sampled_from([8, 4096]),
    iterations=st.integers(1, 5),
)
@examples(60)
def test_the_closed_form_of_the_ring(ranks: int, steps: int | None, size: int, iterations: int) -> None:
    """Protects the check itself: played through, number by number, rounds end as the formula says."""
    ring = Ring().at(Shape(ranks, {"steps": steps}))
    plans = [ring.steps(rank, size) * iterations for rank in range(ranks)]
    sums = [ring.sums(rank, size, iterations) for rank in range(ranks)]
    slots: list[dict[int, float]] = [{0: s.before} for s in sums if s]
    for number in range(len(plans[0])):
        moved = [(rank, t) for rank in range(ranks) for t in plans[rank][number].sends]
        arrived = [(t.peer, t.remote_offset, slots[rank][t.offset]) for rank, t in moved]
        for peer, place, value in arrived:
            slots[peer][place] = value
        for rank in range(ranks):
            for work in plans[rank][number].after:
                into, _, grows = work.arguments
                assert isinstance(into, Place) and isinstance(grows, float)
                slots[rank][into.offset] += grows
    for rank, expected in enumerate(sums):
        assert expected and slots[rank][expected.offset] == expected.after
    if steps is None and ranks % 2 == 0 and iterations == 1:
        assert all(s and s.after - s.before == ranks * (ranks + 1) / 2 for s in sums)


def cost_of(pattern: Pattern, shape: Shape) -> int:
    """Bytes that a rank in the middle holds of its part of the world."""
    job = pattern.at(shape)
    tracemalloc.start()
    try:
        rank = shape.ranks // 2
        held = (
            job.steps(rank, 8, job.timing.phases - 1),
            job.team(rank, 0),
            job.figure(8),
            job.extent(rank, 8),
        )
        size, _ = tracemalloc.get_traced_memory()
        assert held
        return size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["ring", "pairs", "halo", "copy", "groups"])
def test_a_rank_of_a_huge_world_knows_no_more_than_one_of_a_small_one(name: str) -> None:
    """Protects scale: 100,000 ranks plan in a moment, and hold what 64 hold.

    Groups are the exception that is said: a member's list has an entry for each other group. Two groups, as
    for a bisection, cost the same at any scale.
    """
    pattern = find_pattern(name)

    def shape(ranks: int) -> Shape:
        return Shape(ranks, {"group": ranks // 2, "steps": 128, "sample": 5 if name == "pairs" else None})

    cost_of(pattern, shape(64))
    small, large = cost_of(pattern, shape(64)), cost_of(pattern, shape(100_000))
    assert large <= 1.2 * small + 1000, (small, large)


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    rows = [(0, 0, 2, 8), (0, 2, 1, 4096), (1, 1, 0, 7)]
    csv, other = tmp_path / "a.csv", tmp_path / "a.json"
    csv.write_text("\ufeffbytes, to,from,step\n" + "".join(f"{b},{t},{f},{s}\n" for s, f, t, b in rows))
    other.write_text(json.dumps([dict(zip(("step", "from", "to", "bytes"), r, strict=True)) for r in rows]))
    custom = find_pattern("custom")
    assert custom.at(Shape(0, {"file": str(csv)})).rank_rule.wanted == 3
    for rank in range(3):
        plans = [custom.at(Shape(3, {"file": str(file)})).steps(rank, 0) for file in (csv, other)]
        assert plans[0] == plans[1]
    assert "rank 2 takes 3 ranks" in str(custom.at(Shape(2, {"file": str(csv)})).refuse())


@pytest.mark.parametrize("pattern", [find_pattern("jacobi"), find_pattern("jacobi").at(Shape(2))])
def test_a_program_is_of_a_pattern_in_its_job(pattern: Pattern) -> None:
    """Protects memory: a rank of four that plans for two writes behind the end of its buffers."""
    context: Any = SimpleNamespace(pattern=pattern, comm=SimpleNamespace(rank=0, size=4), core=None)
    nothing: Any = None
    with pytest.raises(RuntimeError, match="jacobi is in no job of 4 ranks"):
        Program(context, Wanted(nothing, nothing, 8))
