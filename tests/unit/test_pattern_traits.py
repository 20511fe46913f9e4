"""What patterns say of themselves: to the command line, to ranks and to reports."""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from typing import Any

import pytest

from wirespeed.errors import WirespeedError
from wirespeed.patterns import (
    Figure,
    Pattern,
    Shape,
    Step,
    Team,
    Transfer,
    all_patterns,
    find_pattern,
)
from wirespeed.units import parse_sizes


def test_ranks_that_a_pattern_takes() -> None:
    two = {"exchange", "pingpong", "rma", "stream"}
    assert {name for name, pattern in all_patterns().items() if pattern.ranks is not None} == two
    for name in two:
        pattern = find_pattern(name)
        assert pattern.wanted_ranks(Shape(0)) == 2 and pattern.refuse(Shape(2)) is None
        assert pattern.refuse(Shape(3)) == f"{name} takes exactly two ranks, not 3: start it with -n 2"
    assert find_pattern("groups").wanted_ranks(Shape(0)) is None
    blocks = find_pattern("blocks")
    assert blocks.wanted_ranks(Shape(0)) == 2 and blocks.refuse(Shape(8)) is None
    assert blocks.refuse(Shape(1)) == "blocks takes two ranks or more"


def test_a_stream_of_pairs() -> None:
    """Protects whose clock counts, and that a single pair's figure begins with no barrier."""
    stream, one, three = find_pattern("stream"), Shape(2, {"pairs": 1}), Shape(6, {"pairs": 3})
    assert stream.wanted_ranks(three) == 6 and stream.refuse(three) is None
    assert stream.refuse(Shape(4, {"pairs": 3})) == "stream takes exactly 6 ranks, not 4: start it with -n 6"
    assert [stream.barriers(shape) for shape in (one, three)] == [False, True]
    teams = [stream.team(rank, three) for rank in range(6)]
    assert teams == [Team("", range(3))] * 3 + [None] * 3 and stream.team(0, one) == Team("", range(1))
    (window, _) = stream.steps(1, three, 8)
    assert {transfer.peer for transfer in window.sends} == {4} and len(window.sends) == 64
    assert {transfer.peer for transfer in stream.steps(5, three, 8)[1].sends} == {2}
    figure = stream.figure(three, 8)
    assert (figure.bytes, [one.amount for one in figure.derived]) == (3 * 64 * 8, [3 * 64])
    assert figure.definition == (
        "window: 64 messages in each of 3 pairs (rank i to i + 3) and an empty answer; "
        "GB/s of that direction of all pairs, over the time of the slowest"
    )
    both = stream.figure(Shape(6, {"pairs": 3, "both_ways": True}), 8)
    assert (both.bytes, [one.amount for one in both.derived]) == (3 * 64 * 8, [6 * 64 * 8, 3 * 64])


def test_one_sided_operations() -> None:
    """Protects who is active in each, and the words of a fetch-and-add: what was, and one more."""
    rma = find_pattern("rma")
    active = {}
    for operation in ("put", "get", "fetch-add"):
        shape = Shape(2, {"operation": operation})
        (origin,), (target,) = rma.steps(0, shape, 8), rma.steps(1, shape, 8)
        assert origin.sends == target.receives[:0] or origin.sends[0].bytes == target.receives[0].bytes == 8
        active[operation] = bool(origin.sends)
        assert rma.team(0, shape) == Team("", range(1)) and rma.team(1, shape) is None
        assert rma.figure(shape, 8).definition.split(":")[0] in (operation, "fetch-and-add")
        assert rma.fixed_sizes(shape) == ((8,) if operation == "fetch-add" else None)
        assert (rma.sums(0, shape, 8) is None) == (operation != "fetch-add")
        assert rma.links(shape, 8) is None and rma.default_sizes(shape.options) is None
    assert active == {"put": True, "get": False, "fetch-add": True}
    fetched, word = (rma.sums(rank, Shape(2, {"operation": "fetch-add"}), 8) for rank in (0, 1))
    assert fetched and word and fetched.after == word.before and word.after == word.before + 1
    many = [rma.sums(rank, Shape(2, {"operation": "fetch-add"}), 8, iterations=7) for rank in (0, 1)]
    assert [one and one.after - word.before for one in many] == [6, 7]
    # To add 1 to the bits is to add 1 to the number, also after thousands of checked iterations.
    for start in (word.before, word.before + 100_000):
        (bits,) = struct.unpack("<q", struct.pack("<d", start))
        assert struct.unpack("<d", struct.pack("<q", bits + 1)) == (start + 1,)


def test_loads() -> None:
    """Protects the chain: whole lines within SIZE, buffers that hold it, no bandwidth, sizes of its own."""
    rma, shape = find_pattern("rma"), Shape(2, {"operation": "load"})
    (origin,), (target,) = rma.steps(0, shape, 1000), rma.steps(1, shape, 1000)
    assert (origin.receives, target.sends) == ((Transfer(1, 1000),), (Transfer(0, 1000),))
    assert not origin.sends and not target.receives
    assert [rma.links(shape, size) for size in (1, 383, 384, 1 << 20)] == [2, 2, 3, 8192]
    assert [rma.extent(1, shape, size) for size in (1, 1000)] == [256, 1000]
    figure = rma.figure(shape, 1000)
    assert (figure.divisor, figure.bytes, figure.definition.split(":")[0]) == (1, 0, "load")
    assert rma.sums(0, shape, 8) is None and rma.fixed_sizes(shape) is None
    sizes = parse_sizes(str(rma.default_sizes(shape.options)))
    assert sizes == tuple(4**step << 16 for step in range(8))


def test_phase_left_out_is_the_first_one() -> None:
    """Of every method that takes a phase, the one that all patterns are written after among them."""
    patterns = all_patterns().values()
    methods: list[Callable[..., Any]] = [Pattern.steps, Pattern.team]
    methods += [method for one in patterns for method in (one.steps, one.team)]
    for method in methods:
        assert inspect.signature(method).parameters["phase"].default == 0


class Relay(Pattern):
    """Says nothing of itself that it need not say."""

    name = "relay"
    summary = "Three ranks."
    ranks = 3

    def steps(self, rank: int, shape: Shape, size: int, phase: int = 0) -> list[Step]:
        return [Step((Transfer(1, size, 10),), (Transfer(2, size, 30),))] if rank == 0 else []

    def figure(self, shape: Shape, size: int) -> Figure:
        return Figure(1, size, "made up: nothing")


def test_what_a_pattern_says_that_says_nothing() -> None:
    """Protects a new pattern's plain answers: one phase, one team of all, buffers up to the last byte."""
    relay, shape = Relay(), Shape(3)
    assert relay.refuse(shape) is None
    assert relay.refuse(Shape(2)) == "relay takes exactly 3 ranks, not 2: start it with -n 3"
    assert (relay.phases(shape), relay.reported_phase(shape), relay.sums(0, shape, 8)) == (1, None, None)
    assert relay.fixed_sizes(shape) is None and relay.wanted_ranks(shape) == 3
    assert relay.team(2, shape) == Team("", range(3))
    assert relay.extent(0, shape, 100) == 130 and relay.extent(1, shape, 100) == 0


def test_a_pattern_that_is_not_there() -> None:
    with pytest.raises(WirespeedError) as error:
        find_pattern("torus")
    assert str(error.value) == (
        "there is no pattern called 'torus'; there are: "
        "allgather, allreduce, alltoall, barrier, blocks, broadcast, copy, custom, exchange, groups, halo, "
        "jacobi, lbm, offload, pairing, pairs, pingpong, reduce, reducescatter, ring, rma, stream"
    )
