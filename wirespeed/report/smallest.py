"""The smallest slowdowns that are found 9 times in 10, in words."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.report.facts.figures import percent

MAX_TIMES = 10
"""A slowdown that is found only beyond so many times the time is as good as never found."""


def slowdowns(subject: str, found: Iterable[tuple[float, str]]) -> str:
    """'9 times in 10 this finds a path that became 2.1 % (aware) to 44 % slower (host)'.

    `found`: slowdowns as shares of the time, each with its name; at least one. No names where both ends are
    alike.
    """
    (least, first), *_, (most, last) = sorted([*found] * 2, key=lambda pair: pair[0])
    missed = f"even at {MAX_TIMES} times"
    if is_missed(least):
        return f"9 times in 10 this would miss {subject} {missed}"
    start, one, other = f"9 times in 10 this finds {subject} that became", slower(least), slower(most)
    if one == other:
        return f"{start} {one}"
    if is_missed(most):
        return f"{start} {one} ({first}); it would miss one {missed} ({last})"
    for unit in (" slower", " times as slow"):
        if one.endswith(unit) and other.endswith(unit):
            return f"{start} {one.removesuffix(unit)} ({first}) to {other} ({last})"
    return f"{start} {one} ({first}), or {other} ({last})"


def is_missed(share: float) -> bool:
    return share >= MAX_TIMES - 1


def slower(share: float) -> str:
    """'4.4 % slower', from twice the time on '2.6 times as slow'."""
    return f"{percent(share)} slower" if share < 1 else f"{1 + share:.2g} times as slow"
