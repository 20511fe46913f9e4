"""Sizes that a pattern has by default, in less memory than they need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wirespeed.frontend.fitting import fitting, with_room
from wirespeed.job.plan import Plan
from wirespeed.units import parse_sizes

GIB = 1 << 30
GROUPS = Plan("groups", ranks=4, options=(("group", 1), ("fan", None)))


@pytest.mark.parametrize(
    ("room", "largest"), [(None, GIB), (4 * GIB, GIB), (3 * GIB, GIB // 2), (1 << 20, 1 << 18)]
)
def test_default_sizes_leave_out_what_has_no_room(room: int | None, largest: int) -> None:
    """Protects a first try from an error: 3 messages of 1 GiB, into two buffers of each of 4 ranks."""
    assert fitting(GROUPS, room) == parse_sizes(f"1:{largest}")


def test_what_is_left_out_is_said() -> None:
    """Protects the reader of a table that ends early."""
    fewer, text = with_room(GROUPS, GIB)
    assert fewer.sizes[-1] == GIB // 4 and text is not None
    assert text.startswith("sizes up to 256 MiB only: for 4 ranks, larger ones need more memory than is free")
    assert with_room(GROUPS, 8 * GIB) == (GROUPS, None)


def test_sizes_that_are_asked_for_are_kept() -> None:
    """Protects what a user writes: such a size fails, with its reason."""
    asked = replace(GROUPS, sizes=(8, GIB))
    assert fitting(asked, 1 << 20) == (8, GIB)


def test_a_window_shrinks_instead() -> None:
    """Protects streams, which hold as many messages as have room."""
    stream = Plan("stream", options=(("window", 64),))
    assert fitting(stream, 2 * GIB) == stream.sizes


def test_the_first_size_is_always_tried() -> None:
    """Protects from a run of nothing."""
    assert fitting(GROUPS, 1) == (1,)
