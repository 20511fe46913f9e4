"""Records as the report's rooms expect them: members of another shape are dropped before they are asked."""

from __future__ import annotations

import math
from typing import Any

from wirespeed.report.page.clean import records
from wirespeed.report.records import Record

LARGEST = 1 << 63
"""No count and no time is larger."""


def fit(record: Record) -> Record | None:
    """The record without what cannot be used; None where nothing is left of it."""
    kind = record.get("kind")
    if kind == "run":
        return _run(record)
    if kind == "step":
        return _step(record)
    return record if kind != "entry" or _sound(record) else None


def _run(record: Record) -> Record:
    plan = record.get("plan")
    plan = plan if isinstance(plan, dict) else {}
    environment = record.get("environment")
    environment = environment if isinstance(environment, dict) else {}
    given = plan.get("options")
    pairs = [pair for pair in given if _is_option(pair)] if isinstance(given, list) else []
    stopping = plan.get("stopping")
    stopping = stopping if isinstance(stopping, dict) else {}
    rule = {name: value for name, value in stopping.items() if _is_sound(value)}
    return {**record, "plan": {**plan, "options": pairs, "stopping": rule}, "environment": environment}


def _is_option(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    return (
        isinstance(pair[1], str) or pair[1] is None or (isinstance(pair[1], int) and 0 <= pair[1] < LARGEST)
    )


def _step(record: Record) -> Record:
    """Places of ranks are used by all or not at all: a limit of half the ranks would be a wrong one."""
    ranks = record.get("ranks")
    whole = isinstance(ranks, list) and all(map(_is_rank, ranks))
    return {**record, "ranks": ranks if whole else []}


def _is_rank(rank: Any) -> bool:
    if not isinstance(rank, dict) or not isinstance(rank.get("host", ""), str):
        return False
    device = rank.get("device")
    return device is None or (isinstance(device, dict) and {"name", "id"} <= device.keys())


def _sound(entry: Record) -> bool:
    """Is every number of it one that can be reckoned with?"""
    numbers = [entry.get(name) for name in ("bytes", "moved", "samples", "precision")]
    times = [entry, *records(entry.get("members"))]
    for one in times:
        seconds = one.get("seconds")
        numbers += seconds.values() if isinstance(seconds, dict) else [math.nan]
    return all(number is None or _is_sound(number) for number in numbers)


def _is_sound(number: Any) -> bool:
    # A float first: an integer may be too large to become one.
    return isinstance(number, (int, float)) and -LARGEST < number < LARGEST
