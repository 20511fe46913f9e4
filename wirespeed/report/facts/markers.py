"""The marks of a figure in every table: how sure it is, and whether it is the best."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.report.facts import health
from wirespeed.results.runs import Entry, Run

CONTENDED = "&"
NOT_REACHED = "~"
FAR_OFF = "!"
FAR = 0.1
"""An interval wider than ± this share of its median is marked as such where it is not printed."""
NO_INTERVAL = "?"
"""Too few samples, or too few launches, for one."""
SPOILED = (health.MARK, CONTENDED)
"""Marks of figures that are not the path's own speed."""
FASTEST = "*"
AS_FAST = "≈"
TIMES = "x"
MEANINGS = (
    f"{NOT_REACHED} the time was over before the precision asked for was reached",
    f"{NO_INTERVAL} too few samples, or launches, for an interval",
    f"{CONTENDED} a rank waited for a CPU, so that the figure is the scheduler's as much as the path's",
    health.LEGEND,
)
"""Meanings of the marks of sign()."""


def mark(entry: Entry) -> str:
    """'~': the time was over before the precision asked for was reached; '?': too few batches to tell; '&':
    ranks waited for CPUs (Cores.contended has the rule).

    Of several launches '?' means that there are fewer than three: their interval says how launches differ.
    """
    if entry.contended:
        return CONTENDED
    if entry.stopped == "fixed":
        return ""
    if entry.precision is None:
        return NO_INTERVAL
    return NOT_REACHED if entry.stopped == "max-time" else ""


def grade(entry: Entry) -> str:
    """The mark where the table has no intervals: '!' tells a wide one from one that just missed."""
    far = entry.precision is not None and entry.precision > FAR
    return FAR_OFF if far and unsettled(entry) else mark(entry)


def sign(run: Run, entry: Entry, *, graded: bool = False) -> str:
    """The one mark that a table has room for: that of its hosts' health, else its own.

    `graded`: for tables without intervals.
    """
    return health.mark(run, entry) or (grade(entry) if graded else mark(entry))


def doubts(*signs: str) -> str:
    """The mark of a ratio: the gravest of its figures'. That one has no interval is said otherwise."""
    return next((sign for sign in (*SPOILED, FAR_OFF, NOT_REACHED) if sign in signs), "")


def biased(mark: str) -> str:
    """The mark of a ratio that is not told from 1: how wide intervals are it says itself."""
    return mark if mark in SPOILED else ""


def unsettled(entry: Entry) -> bool:
    """Would more time make its interval narrower? That of several launches needs more of them instead."""
    return entry.launches == 1 and mark(entry) in (NOT_REACHED, NO_INTERVAL)


def widest(entries: Iterable[Entry]) -> float | None:
    """The half width of the widest interval, as a share; None where there is none."""
    return max((entry.precision for entry in entries if entry.precision is not None), default=None)


def winners(run: Run, size: int) -> list[Entry]:
    """The fastest of each memory domain that several paths serve, and those as fast within the intervals."""
    return [entry for home in run.competing for entry in run.fastest(size, home)]


CLOSE, HALF = 0.85, 0.5
"""Shares of a limit: from CLOSE on it is as good as reached. Small messages never come near."""


def share_style(share: float, *, exceeded: bool = False) -> str:
    """Style of a percentage of a limit."""
    if exceeded:
        return "bold red"
    return "green" if share >= CLOSE else "" if share >= HALF else "dim"
