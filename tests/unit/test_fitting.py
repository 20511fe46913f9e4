"""Sizes that a pattern has by default, in less memory than they need."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from wirespeed.cli.commands import cli
from wirespeed.cli.patterns import plans
from wirespeed.frontend.fitting import fitting, with_room
from wirespeed.frontend.run_steps import completed
from wirespeed.job.plan import Plan
from wirespeed.patterns import find_pattern
from wirespeed.units import parse_sizes

GIB = 1 << 30
GROUPS = Plan("groups", ranks=4, options=(("group", 1), ("fan", None)))


@pytest.mark.parametrize(
    ("room", "largest"), [(None, GIB), (4 * GIB, GIB), (3 * GIB - 1, GIB // 2), (1 << 20, 1 << 18)]
)
def test_default_sizes_leave_out_what_has_no_room(room: int | None, largest: int) -> None:
    """Protects a first try from an error: 3 messages of 1 GiB, into two buffers of each of 4 ranks."""
    assert fitting(GROUPS, room) == parse_sizes(f"1:{largest}")


@pytest.mark.parametrize(
    ("pattern", "kind", "sizes"),
    [("alltoall", "fp32", (32, 256)), ("allgather", "fp64", (64, 256)), ("allreduce", "fp64", (8, 256))],
)
def test_sizes_have_an_element_for_each_rank(pattern: str, kind: str, sizes: tuple[int, ...]) -> None:
    """Protects from the time of an operation that moves nothing; what has room is still known by default."""
    plan = Plan(pattern, sizes=(0, 8, 32, 256), options=(("type", kind),))
    assert completed(plan, 8, "host").sizes == tuple(
        dict.fromkeys(max(size, sizes[0]) for size in plan.sizes)
    )
    usual = completed(replace(plan, sizes=parse_sizes(str(find_pattern(pattern).sizes))), 8, "host")
    assert usual.sizes[:2] == sizes and fitting(usual, 1 << 20)[-1] < usual.sizes[-1]


def test_what_is_left_out_is_said() -> None:
    """Protects the reader of a table that ends early."""
    fewer, text = with_room(GROUPS, GIB)
    assert fewer.sizes[-1] == GIB // 4 and text is not None
    assert text.startswith("sizes up to 256 MiB only: for 4 ranks, larger ones need more memory than is free")
    assert with_room(GROUPS, 8 * GIB) == (GROUPS, None)


def test_sizes_that_are_asked_for_are_kept() -> None:
    """Protects what a user writes: such a size fails, with its reason."""
    for asked in (replace(GROUPS, sizes=(8, GIB)), replace(GROUPS, sizes_named=True)):
        assert fitting(asked, 1 << 20) == asked.sizes


@pytest.mark.parametrize("words", [[], ["--sizes", "1:1G"]])
def test_a_plan_knows_whether_its_sizes_were_written(words: list[str]) -> None:
    """Protects a user who writes what is the default as well."""
    pattern = find_pattern("pingpong")
    command = cli.get_command(click.Context(cli), "pingpong")
    assert command is not None
    context = command.make_context("pingpong", list(words))
    given = dict(context.params)
    for name in ("style", "against", "explain", "all_sizes", "background"):
        given.pop(name, None)
    (plan,) = plans(pattern, given, context)
    assert plan.sizes == parse_sizes("1:1G") and plan.sizes_named == bool(words)
    assert "sizes_named" not in plan.to_dict()


def test_a_window_shrinks_instead() -> None:
    """Protects streams, which hold as many messages as have room."""
    stream = Plan("stream", options=(("window", 64),))
    assert fitting(stream, 2 * GIB) == stream.sizes


def test_the_first_size_is_always_tried() -> None:
    """Protects from a run of nothing."""
    assert fitting(GROUPS, 1) == (1,)
