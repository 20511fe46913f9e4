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
from wirespeed.patterns.rules import RankRule


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
        assert rma.size_rule(shape).fixed == ((8,) if operation == "fetch-add" else None)
        assert (rma.sums(0, shape, 8) is None) == (operation != "fetch-add")
        assert rma.links(shape, 8) is None and rma.size_rule(shape).chosen()[-1] in (8, 1 << 20)
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
    assert rma.sums(0, shape, 8) is None and rma.size_rule(shape).fixed is None
    assert rma.size_rule(shape).chosen() == tuple(4**step << 16 for step in range(8))


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
    ranks = RankRule(3)

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
    assert relay.size_rule(shape).fixed is None and relay.rank_rule({}).wanted == 3
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
