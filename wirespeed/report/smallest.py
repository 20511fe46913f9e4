"""The smallest slowdowns that are found, in words."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.report.facts import figures


def slowdowns(words: str, found: Iterable[tuple[float, str]]) -> str:
    """'a slowdown of a whole path by 2.1 % (aware) to 4.4 % (host)'; no names where both ends are alike.

    `found`: slowdowns as shares of the time, each with its name; at least one.
    """
    ordered = sorted(found, key=lambda pair: pair[0])
    (least, first), (most, last) = (
        (figures.slowdown(share), name) for share, name in (ordered[0], ordered[-1])
    )
    if least == most:
        return f"{words} {least}"
    for head in ("by ", "only when it takes "):
        if least.startswith(head) and most.startswith(head):
            least, most = least.removesuffix(" times as long"), most.removeprefix(head)
            return f"{words} {least} ({first}) to {most} ({last})"
    return f"{words} {least} ({first}), {most} ({last})"
