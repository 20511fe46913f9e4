"""The tests that `make test` leaves out: those marked slow; of slow(after=N) all cases but the first N."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

TURNS = 10
"""Commits within which CI runs every slow test."""


def slow_case(*values: Any) -> Any:
    """Parameters of one more case, which is slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_tests(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Those of these tests."""
    seen: Counter[str] = Counter()
    found = []
    for item in items:
        # What stands at the case or at the test counts, and else what stands at its class or file.
        own = [mark for mark in item.own_markers if mark.name == "slow"]
        kept = [mark.kwargs.get("after", 0) for mark in own or item.iter_markers("slow")]
        name = item.nodeid.partition("[")[0]
        if kept and (0 in kept or seen[name] >= kept[0]):
            found.append(item)
        else:
            seen[name] += 1
    return found


def its_turn(item: pytest.Item, turn: int) -> bool:
    """Does CI run this slow test at a commit of that number?"""
    return zlib.crc32(item.nodeid.encode()) % TURNS == turn % TURNS
