"""Sizes that a pattern has by default, in less memory than they need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wirespeed.cli.patterns import command_of, plans
from wirespeed.frontend import order
from wirespeed.frontend.order import completed, with_room
from wirespeed.job.plan import Plan
from wirespeed.patterns import find_pattern
from wirespeed.units import parse_sizes

GIB = 1 << 30
GROUPS = completed(Plan("groups", options=(("group", 1),)), 4, "host")


@pytest.mark.parametrize(
    ("room", "largest"), [(None, GIB), (4 * GIB, GIB), (3 * GIB - 1, GIB // 2), (1 << 20, 1 << 18)]
)
def test_default_sizes_leave_out_what_has_no_room(room: int | None, largest: int) -> None:
    """Protects a first try from an error: 3 messages of 1 GiB, into two buffers of each of 4 ranks."""
    assert with_room(GROUPS, room)[0].sizes == parse_sizes(f"1:{largest}")


@pytest.mark.parametrize(
    ("pattern", "kind", "sizes"),
    [("alltoall", "fp32", (32, 256)), ("allgather", "fp64", (64, 256)), ("allreduce", "fp64", (8, 256))],
)
def test_sizes_have_an_element_for_each_rank(pattern: str, kind: str, sizes: tuple[int, ...]) -> None:
    """Protects from the time of an operation that moves nothing."""
    plan = Plan(pattern, sizes=(0, 8, 32, 256), options=(("type", kind),))
    assert completed(plan, 8, "host").sizes == tuple(
        dict.fromkeys(max(size, sizes[0]) for size in plan.sizes)
    )
    assert completed(replace(plan, sizes=()), 8, "host").sizes[:2] == sizes


def test_what_is_left_out_is_said() -> None:
    """Protects the reader of a table that ends early."""
    fewer, text = with_room(GROUPS, GIB)
    assert fewer.sizes[-1] == GIB // 4 and text is not None
    assert text.startswith("only sizes up to 256 MiB: larger ones need more memory than is free for 4 ranks")
    assert with_room(GROUPS, 8 * GIB) == (GROUPS, None)


@pytest.mark.parametrize("words", [[], ["--sizes", "1:1G"]])
def test_sizes_that_are_asked_for_are_kept(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a user who writes what is the default: such a size is tried, and fails with its reason."""
    pattern = find_pattern("pingpong")
    given = command_of(pattern).make_context("pingpong", [*words, "--device", "cpu"]).params
    for name in ("style", "against", "explain", "all_sizes", "background"):
        given.pop(name)
    monkeypatch.setattr(order, "room_for_buffers", lambda *_, **__: 1 << 20)
    ordered = order.resolve(*plans(pattern, given))
    assert ordered.plan.sizes == parse_sizes("1:1G" if words else "1:1M")
    assert (ordered.left_out is None) == bool(words)


def test_a_window_shrinks_instead() -> None:
    """Protects streams, which hold as many messages as have room."""
    stream = completed(Plan("stream", options=(("window", 64),)), 2, "host")
    assert with_room(stream, 2 * GIB) == (stream, None)


def test_the_first_size_is_always_tried() -> None:
    """Protects from a run of nothing."""
    assert with_room(GROUPS, 1)[0].sizes == (1,)
