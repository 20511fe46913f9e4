"""Our collective algorithms, played through in Python, and entries of a path for each."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.golden import Golden
from support.limited import used

from wirespeed.errors import WirespeedError
from wirespeed.job.path_selection import by_algorithms, select, unsuited
from wirespeed.job.plan import Plan
from wirespeed.limits import ceiling
from wirespeed.paths import find_path
from wirespeed.patterns import Place, Shape, Step, Work, all_patterns, find_pattern
from wirespeed.patterns.collectives import PATTERNS
from wirespeed.patterns.collectives.operation import ALGORITHMS, CollectivePattern
from wirespeed.patterns.collectives.rank_view import REDUCING, TYPES, RankView

Value = tuple[tuple[int, int], ...]
"""Which (rank, element) are combined in an element, each as often as it is."""
Memory = dict[int, Value]
"""By place."""
Combine = Callable[[Any, Any], Any]


def spans(step: Step, job: RankView) -> tuple[list[range], list[range]]:
    """Bytes that are read, and that are written, while the step's transfers are under way."""
    reads = [range(one.offset, one.offset + one.bytes) for one in step.sends]
    writes = [range(one.offset, one.offset + one.bytes) for one in step.receives]
    for work in step.meanwhile:
        to, *origins = (one.offset for one in work.arguments if isinstance(one, Place))
        length = int(work.arguments[3]) * job.element  # type: ignore[arg-type]
        writes.append(range(to, to + length))
        reads += [range(origin, origin + length) for origin in origins]
    return reads, writes


def counted(one: Any, other: Any) -> Any:
    """What is combined, in whatever order."""
    return tuple(sorted(one + other))


def work_on(memory: Memory, work: Work, job: RankView, combine: Combine = counted) -> None:
    to, one, other = (place.offset for place in work.arguments if isinstance(place, Place))
    count, kind, operation = work.arguments[3:]
    assert kind == list(TYPES).index(job.type) and work.kernel == "ws_elements_combine"
    for at in range(0, int(count) * job.element, job.element):  # type: ignore[arg-type]
        memory[to + at] = (
            memory[one + at] if operation == 3 else combine(memory[one + at], memory[other + at])
        )


def played(jobs: list[RankView], plans: list[list[Step]], combine: Combine = counted) -> list[Memory]:
    """What each rank's buffer holds after one iteration. Fails where ranks wait for each other for ever."""
    memories: list[Memory] = []
    for job in jobs:
        places = range(0, job.given_bytes, job.element)
        memories.append({job.given + at: ((job.rank, at // job.element),) for at in places})
    messages: dict[tuple[int, int], deque[list[Value]]] = defaultdict(deque)
    positions, begun = [0] * len(jobs), [False] * len(jobs)
    moved = True
    while moved:
        moved = False
        for job, plan, memory in zip(jobs, plans, memories, strict=True):
            if positions[job.rank] == len(plan):
                continue
            step = plan[positions[job.rank]]
            if not begun[job.rank]:
                for one in step.sends:
                    places = range(one.offset, one.offset + one.bytes, job.element)
                    messages[job.rank, one.peer].append([memory[at] for at in places])
                for work in step.meanwhile:
                    work_on(memory, work, job, combine)
                begun[job.rank] = moved = True
            if all(messages[one.peer, job.rank] for one in step.receives):
                for one in step.receives:
                    for number, value in enumerate(messages[one.peer, job.rank].popleft()):
                        memory[one.offset + number * job.element] = value
                for work in step.after:
                    work_on(memory, work, job, combine)
                positions[job.rank] += 1
                begun[job.rank], moved = False, True
    assert positions == [len(plan) for plan in plans], "every rank comes to its end"
    return memories


def ready(here: Any, ranks: int, size: int) -> tuple[list[RankView], list[list[Step]]]:
    """The view and the steps of each rank."""
    every = range(ranks)
    return [here.rank_view(rank, size) for rank in every], [here.steps(rank, size) for rank in every]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: str(pattern.name))
@given(data=st.data())
@examples(40)
def test_every_rank_has_the_exact_result(
    pattern: CollectivePattern, algorithm: str, data: st.DataObject
) -> None:
    """Protects each algorithm: every contribution counts once, for any ranks, counts, roots and places."""
    ranks = data.draw(st.sampled_from([n for n in range(2, 10) if algorithm in pattern.algorithms(n)] or [0]))
    if not ranks:
        assert (pattern.name, algorithm) == ("alltoall", "doubling") or algorithm == "one-shot"
        return
    options: dict[str, Any] = {
        "by": algorithm,
        "root": data.draw(st.integers(0, ranks - 1)),
        "type": data.draw(st.sampled_from(list(TYPES))),
        "in_place": data.draw(st.sampled_from(["no", "yes"])),
    }
    shape, size = Shape(ranks, options), data.draw(st.integers(0, 160))
    here = pattern.at(shape)
    jobs, plans = ready(here, ranks, size)
    for job, memory in zip(jobs, played(jobs, plans), strict=True):
        assert max(memory, default=0) < max(here.extent(job.rank, size), 1)
        for one in pattern.results(job):
            for number in range(one.count):
                expected = tuple((rank, one.first + number) for rank in range(one.rank, one.rank + one.ranks))
                assert memory[one.offset + number * job.element] == expected


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: str(pattern.name))
@pytest.mark.parametrize("in_place", ["no", "yes"])
@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("iterations", [2, 3])
def test_what_many_iterations_leave(
    pattern: CollectivePattern, algorithm: str, in_place: str, op: str, iterations: int
) -> None:
    """Protects checked batches: what is expected after several iterations is what they leave."""
    ranks = 4
    if algorithm not in pattern.algorithms(ranks):
        pytest.skip(f"{pattern.name} is not done by {algorithm}")
    shape = Shape(ranks, {"by": algorithm, "in_place": in_place, "op": op})
    here = pattern.at(shape)
    jobs, once = ready(here, ranks, 64)
    plans = [plan * iterations for plan in once]
    # The largest of numbers that are combined twice is the same.
    memories = played(jobs, plans, counted if op == "sum" else lambda one, other: (*sorted({*one, *other}),))
    right = all(
        memory[one.offset + number * job.element]
        == tuple(
            (rank, one.first + number)
            for rank in range(one.rank, one.rank + one.ranks)
            for _ in range(1 if rank == one.own else one.times)
        )
        for job, memory in zip(jobs, memories, strict=True)
        for one in pattern.results(job, iterations)
        for number in range(one.count)
    )
    # Where others than the one who gets it add to what they give, only sums that are 0 stay what they are.
    known = pattern.name != "allreduce" and here.batch_content
    assert right == bool(known or not here.accumulates)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("in_place", ["no", "yes"])
@pytest.mark.parametrize("ranks", range(2, 10))
def test_results_are_equal_bit_for_bit(algorithm: str, in_place: str, ranks: int) -> None:
    """Protects programs whose ranks decide alike: sums are rounded in the same order on all ranks."""
    pattern = find_pattern("allreduce")
    assert isinstance(pattern, CollectivePattern)
    shape, size = Shape(ranks, {"by": algorithm, "in_place": in_place}), 4 * ranks
    jobs, plans = ready(pattern.at(shape), ranks, size)
    # Only the order of two numbers that are added makes no difference.
    memories = played(jobs, plans, lambda one, other: frozenset((one, other)))
    results = [
        [memory[job.got + at] for at in range(0, size, 4)] for job, memory in zip(jobs, memories, strict=True)
    ]
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: str(pattern.name))
@given(ranks=st.integers(2, 9), size=st.integers(0, 400), in_place=st.sampled_from(["no", "yes"]))
@examples(20)
def test_nothing_is_overwritten_while_it_is_in_use(
    pattern: CollectivePattern, algorithm: str, ranks: int, size: int, in_place: str
) -> None:
    """Protects paths whose peers write into the buffer, and those that need work in the same steps."""
    if algorithm not in pattern.algorithms(ranks):
        return
    shape = Shape(ranks, {"by": algorithm, "in_place": in_place, "root": ranks - 1})
    jobs, plans = ready(pattern.at(shape), ranks, size)
    for job, plan in zip(jobs, plans, strict=True):
        for step in plan:
            reads, writes = spans(step, job)
            for number, written in enumerate(writes):
                others = [*reads, *writes[:number], *writes[number + 1 :]]
                assert not any(max(written.start, o.start) < min(written.stop, o.stop) for o in others)
    with_work = [
        [number for number, step in enumerate(plan) if step.after or step.meanwhile] for plan in plans
    ]
    assert all(one == with_work[0] for one in with_work)


def test_ring_moves_the_least_and_doubling_takes_the_fewest_steps() -> None:
    """Protects what each algorithm is for."""
    shape = Shape(8, {"by": "ring"})
    ring = PATTERNS[0].at(shape).steps(0, 4096)
    assert sum(one.bytes for step in ring for one in step.sends) == 2 * 7 * 4096 // 8
    assert len(ring) == 14
    assert len(PATTERNS[0].at(Shape(8, {"by": "doubling"})).steps(0, 4096)) == 3
    assert len(PATTERNS[0].at(Shape(8, {"by": "direct"})).steps(0, 4096)) == 2


BUS = {
    **dict.fromkeys(("allgather", "reducescatter", "alltoall"), 3 / 4),
    "allreduce": 2 * 3 / 4,
    "broadcast": 1,
    "reduce": 1,
}


@pytest.mark.parametrize("name", BUS)
def test_bus_bandwidth(name: str) -> None:
    """Protects the factors of nccl-tests (doc/PERFORMANCE.md), and sizes of whole elements on every rank."""
    figure = all_patterns()[name].at(Shape(4, {"type": "fp64"})).figure(4007)
    assert figure.derived[0].amount == 4000
    assert figure.bytes == 4000 * BUS[name]


def test_what_ranks_give_makes_every_error_visible() -> None:
    """Protects the check: content is exact in every type, for as many ranks as are let in."""
    for pattern in PATTERNS[:-1]:
        for kind, most in (("fp32", 1 << 24), ("fp16", 2048), ("bf16", 256)):
            for ranks in (2, 3, 64, 128, 129, 2000):
                shape = Shape(ranks, {"type": kind, "op": "sum"})
                job = pattern.at(shape)
                if job.refuse():
                    assert pattern.name in REDUCING and 2 * ranks > most
                    continue
                content = job.content
                summed = ranks if pattern.name in REDUCING else 1
                assert content.most >= 1 and 2 * content.most * summed <= most


def test_what_cannot_be_done_is_one_line() -> None:
    """Protects the words for a root that there is not, and for an algorithm that lacks a number of ranks."""
    reduce, gather = PATTERNS[5], PATTERNS[1]
    assert reduce.at(Shape(2, {"root": 2})).refuse() == "--root 2: there are 2 ranks, 0 to 1"
    assert reduce.at(Shape(1)).refuse() == "reduce takes two ranks or more"
    assert "fp32" in str(reduce.at(Shape(129, {"type": "bf16"})).refuse())
    assert (
        gather.at(Shape(6, {"by": "doubling"})).lacks
        == "allgather by doubling takes a power of two of ranks, not 6"
    )
    assert gather.at(Shape(8, {"by": "doubling"})).lacks is None


@pytest.mark.parametrize("ranks", range(2, 10))
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_every_rank_has_as_many_steps(pattern: CollectivePattern, ranks: int) -> None:
    """Protects transports that set up each step together: a last step without anything does not count."""
    for name in pattern.algorithms(ranks):
        shape = Shape(ranks, {"by": name})
        plans = [pattern.at(shape).steps(rank, 4096) for rank in range(ranks)]
        works = any(step.after or step.meanwhile for plan in plans for step in plan)
        counted = {
            max(at for at, one in enumerate(plan) if one.sends or one.receives or one.after or one.meanwhile)
            for plan in plans
        }
        assert not works or len(counted) == 1, name


ENTRIES = {
    "library,best": "host staged",
    "all": "host nccl",
    "library": "staged",
    "symmetric": "host",
    "": "host:ring host:tree host:graph",
}
"""--algorithm, and paths."""
ODD = (("staged", ""), ("host:ring", "pingpong"), ("staged:ring", ""), ("nccl-stream:symmetric", ""))


def test_entries_of_a_path(golden: Golden) -> None:
    """Protects --algorithm: the library's own only where it has one, each of ours, and ways of a library."""
    allreduce = find_pattern("allreduce")
    assert isinstance(allreduce, CollectivePattern)

    def entries(algorithm: str, words: str) -> str:
        pattern, lines = allreduce.at(Shape(4, {"algorithm": algorithm} if algorithm else {})), []
        for word in words.split():
            try:
                chosen = by_algorithms(select([word]), pattern)
                lines += [f"{path.name} [{path.algorithm}] {path.options}" for path in chosen]
            except WirespeedError as error:
                lines.append(f"{word} is refused: {error}")
        return "\n".join(lines)

    texts = {
        f"--algorithm {algorithm or '-'} of {words}": entries(algorithm, words)
        for algorithm, words in ENTRIES.items()
    }
    for name, other in ODD:
        why = unsuited(find_path(name), find_pattern(other or "allreduce"), Plan(allocator="pool"))
        texts[f"{name} for {other or 'allreduce'} in memory of a pool"] = why or "suited"
    golden("patterns/algorithms", texts)


def test_the_limit_is_of_the_bus_bandwidth() -> None:
    """Protects the percentage: what leaves a GPU over all of its links."""
    found = ceiling(used("allreduce"))
    assert found and found.rate == 450e9
    assert found.equation.endswith("out of a GPU, if every GPU reaches every other")
