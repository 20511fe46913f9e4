"""Samples that begin with a barrier, on ranks that no MPI joins: from when they count, and who has gone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support import start_lines
from support.command import PATIENCE, captured

pytestmark = pytest.mark.slow(after=1)

SAMPLES = 2 * start_lines.SAMPLES


def ranks(scenario: str, count: int) -> list[dict[str, Any]]:
    """What each rank found."""
    command = [sys.executable, str(Path(start_lines.__file__)), scenario, str(count)]
    done = captured(command, timeout=PATIENCE, ok=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("scenario", "count", "by", "samples"),
    [
        ("late", 2, "agreed time", SAMPLES),
        ("late", 4, "agreed time", SAMPLES),
        ("one_cpu", 4, "agreed time", SAMPLES),
        ("by_barrier", 3, "dissemination", SAMPLES),
        ("without_memory", 2, "dissemination", 0),
    ],
)
def test_a_rank_that_comes_late(scenario: str, count: int, by: str, samples: int) -> None:
    """Protects figures from the wait for the last rank, on a crowded CPU too; and the count of samples.

    Where no memory can be shared, ranks leave a barrier, and the record says why.
    """
    first, *others = ranks(scenario, count)
    for one in (first, *others):
        assert 0 < one["shortest"] <= one["longest"] < start_lines.LATE / 2
        assert one["start"]["by"] == by and one["again"] == {}
        assert ("/dev/shm" in one["start"].get("why", "")) == (scenario == "without_memory")
    assert first["start"]["samples"] == samples
    assert all(one["start"]["samples"] == 0 for one in others)
    assert first["start"]["skew_s"] <= first["start"]["skew_max_s"] < start_lines.LATE / 2


@pytest.mark.parametrize("count", [2, 4])
def test_a_rank_that_has_gone_is_named(count: int) -> None:
    """Protects a job from ranks that wait in memory, where nobody tells them that a peer has ended."""
    first, *_ = ranks("gone", count)
    assert first["said"] == f"rank {count - 1} has closed its connection"
