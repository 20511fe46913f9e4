"""Reasons why something cannot be told, and what would tell. One rule for every command that judges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wirespeed.errors import ExitCode
from wirespeed.grouping import together
from wirespeed.report.facts.figures import percent

CANNOT_TELL = "cannot tell"
MAX_TIMES = 10
"""A slowdown that is found only beyond so many times the time is as good as never found."""


@dataclass(frozen=True)
class Reason:
    """Why something is not judged, and what would tell."""

    why: str
    remedy: str


WAITED = Reason("ranks waited for CPUs (&)", "measure again when nothing else runs on these CPUs")
UNCERTAIN = Reason("its interval is wider than ±100 %", "measure longer: --max-time 2")
NO_INTERVAL = Reason(
    "one launch per side, without intervals", "measure without --loops, and with --launches 5"
)
ONE_LAUNCH = Reason(
    "one launch per side does not exclude a slowdown, for launches of such a path differ by too much",
    "measure both sides with --launches 5",
)
FEW_LAUNCHES = Reason("a slowdown is not excluded", "more launches per side tell (--launches)")
OLD_IS_FIXED = Reason(
    "a slowdown is not excluded",
    "the old side cannot be measured again: --spread, if you know what launches differ by",
)
TOO_EARLY = Reason("no repetition came after the first ones (--first)", "watch for longer")
NOTHING_IN_COMMON = Reason("the two sides have no figure in common", "measure the same paths and sizes")
NOT_ENDED = Reason("the run did not end", "finish it: --out FILE --resume")
NOT_MEASURED = Reason("it was asked for, and has neither a figure nor a failure", "measure it again")
LEFT_OUT = Reason("the time was over (--within)", "measure for longer: --within 5m, or 0 for no bound")
FITS_NO_MORE = Reason(
    "the new run was to measure all that fits, and did not try it",
    "see what it lacks now: wirespeed paths",
)
NO_REFERENCE = Reason("the first repetitions have no figure of it", "watch anew: they show what is usual")


@dataclass(frozen=True)
class Unjudged:
    """One thing that was asked and is not judged."""

    what: str
    """'pingpong aware at 8 B to 1 GiB'."""
    reason: Reason


def lines(found: Iterable[Unjudged]) -> list[str]:
    """A line for each reason: 'cannot tell: pingpong aware at 8 B: ranks waited for CPUs (&); ...'."""
    return [f"{CANNOT_TELL}: {text}" for text in and_why(found)]


def and_why(found: Iterable[Unjudged]) -> list[str]:
    """A line for each reason: 'pingpong host at 8 B: ranks waited for CPUs (&); measure again ...'."""
    alike = together((unjudged.reason, unjudged.what) for unjudged in found)
    return [f"{whats}: {reason.why}; {reason.remedy}" for whats, reason in alike]


def code(unjudged: bool, *, strict: bool) -> ExitCode:
    """The exit code for something that was not judged."""
    if not unjudged:
        return ExitCode.OK
    return ExitCode.WORSE if strict else ExitCode.CANNOT_TELL


def slowdowns(subject: str, found: Iterable[tuple[float, str]], misses: str = "miss", more: str = "") -> str:
    """'9 times in 10 this finds a path that became 2.1 % (aware) to 44 % slower (host)'.

    `found`: slowdowns as shares of the time, each with its name; at least one. No names where both ends are
    alike. `misses`, `more`: words where one is found only beyond MAX_TIMES.
    """
    (least, first), *_, (most, last) = sorted([*found] * 2, key=lambda pair: pair[0])
    missed = f"even at {MAX_TIMES} times"
    if is_missed(least):
        return f"9 times in 10 this would {misses} {subject} {missed}{more}"
    start, one, other = f"9 times in 10 this finds {subject} that became", slower(least), slower(most)
    if one == other:
        return f"{start} {one}"
    if is_missed(most):
        return f"{start} {one} ({first}); it would {misses} one {missed} ({last}){more}"
    for unit in (" slower", " times as slow"):
        if one.endswith(unit) and other.endswith(unit):
            return f"{start} {one.removesuffix(unit)} ({first}) to {other} ({last})"
    return f"{start} {one} ({first}), or {other} ({last})"


def is_missed(share: float) -> bool:
    return share >= MAX_TIMES - 1


def slower(share: float) -> str:
    """'4.4 % slower', from twice the time on '2.6 times as slow'."""
    return f"{percent(share)} slower" if share < 1 else f"{1 + share:.2g} times as slow"
