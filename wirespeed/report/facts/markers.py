"""The marks of a figure in every table: how sure it is, and whether it is the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wirespeed.grouping import grouped
from wirespeed.report.facts import copies, health, spoiled
from wirespeed.results.by_rank import ALONE
from wirespeed.results.model import FAR
from wirespeed.results.parts import TeamFigure
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.statistics.samples import FEWEST_BATCHES
from wirespeed.statistics.stopping import INTERRUPTED, Stopping

CONTENDED = "&"
NOT_REACHED = "~"
FAR_OFF = "!"
NO_INTERVAL = "?"
"""Too few samples, or too few launches, for one."""
FEW, SAME = "too few", "all launches read the same, and none has an interval of its own"
"""Reasons for that."""
FASTEST = "*"
AS_FAST = "≈"
TIMES = "x"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of figures that are not the path's own speed: its rule, its words, and what to do."""

    sign: str
    meaning: str
    applies: Callable[[Run, Entry], bool]
    remedy: Callable[[list[Entry]], str]
    """Advice for these figures, in the line on trust."""
    notes: Callable[[Run], list[str]] | None = None
    """Sentences below the table. Default: the legend has the meaning."""

    def of(self, run: Run) -> list[Entry]:
        """The run's figures to which it applies, or to whose slowest rank alone it does."""
        entries = run.entries.values()
        return [entry for entry in entries if self.applies(run, entry) or sign_alone(entry) == self.sign]


SPOILING = (
    Mark(
        sign="#",
        meaning="measured with a clock held back, or with new errors: the notes say what happened",
        applies=health.is_ill,
        remedy=lambda _: "read what happened to the hosts, and measure again",
    ),
    Mark(
        sign=CONTENDED,
        meaning="a rank waited for a CPU, so that the figure is the scheduler's as much as the path's",
        applies=lambda _, entry: entry.contended,
        remedy=spoiled.remedy,
        notes=spoiled.contended,
    ),
)
"""The gravest first: a figure has one mark."""
SPOILED = tuple(mark.sign for mark in SPOILING)
FAR_WORDS = f"not within ±{100 * FAR:g} %"


def not_reached(stopping: Stopping | None = None) -> str:
    """'not within ±1 % in --max-time (0.1 s)', as far as that is known."""
    precision = f"±{100 * stopping.precision:g} %" if stopping else "the precision asked for"
    return f"not within {precision} in " + (
        f"--max-time ({stopping.max_time:g} s)" if stopping else "its time"
    )


MEANINGS = {
    NOT_REACHED: not_reached(),
    FAR_OFF: FAR_WORDS,
    NO_INTERVAL: "no interval: too few samples, or launches",
    **{mark.sign: mark.meaning for mark in reversed(SPOILING)},
}
"""Meanings of the marks of sign()."""


def meanings(*signs: str) -> str:
    """'! not within ±10 %; & ...' of these marks."""
    return "; ".join(f"{sign} {meaning}" for sign, meaning in MEANINGS.items() if sign in signs)


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
    return NOT_REACHED if entry.stopped in ("max-time", INTERRUPTED) else ""


@remembered
def sign(run: Run, entry: Entry) -> str:
    """The one mark that a table has room for: that of what spoiled it, else that of its interval.

    '!' tells a wide one from one that just missed.
    """
    spoiling = next((mark.sign for mark in SPOILING if mark.applies(run, entry)), "")
    far = entry.precision is not None and entry.precision > FAR
    return spoiling or (FAR_OFF if far and unsettled(entry) else mark(entry))


def sign_alone(entry: Entry) -> str:
    """The mark of the slowest rank that copied alone; '' where none did."""
    alone = copies.slowest_rank(entry, ALONE)
    return sign_of_team(entry, alone) if alone else ""


def sign_of_team(entry: Entry, team: TeamFigure) -> str:
    """The mark of one rank's own figure."""
    if entry.contended_team(team):
        return CONTENDED
    return FAR_OFF if (team.high - team.low) / 2 > FAR * team.seconds else ""


def parts(run: Run, entry: Entry) -> list[tuple[str, float | None]]:
    """(mark, half width) of each interval behind a row of a table: its own, that of the rank alone."""
    own = sign(run, entry), entry.precision
    alone = sign_alone(entry), copies.alone_precision(entry)
    return [own, alone] if alone[1] is not None else [own]


def explained(run: Run) -> list[str]:
    """Lines of the legend on what spoiled figures of this run."""
    return [meanings(mark.sign) for mark in SPOILING if not mark.notes and mark.of(run)]


def notes(run: Run) -> list[str]:
    """The marks' own sentences about this run, each behind its mark."""
    return [f"{mark.sign} {words}" for mark in SPOILING if mark.notes for words in mark.notes(run)]


def without_sign(note: str) -> str:
    """A sentence of notes(), for a reader who sees no table."""
    return note[2:] if note.startswith(tuple(f"{sign} " for sign in SPOILED)) else note


def doubts(*signs: str) -> str:
    """The mark of a ratio: the gravest of its figures'. That one has no interval is said otherwise."""
    return next((sign for sign in (*SPOILED, FAR_OFF, NOT_REACHED) if sign in signs), "")


def biased(mark: str) -> str:
    """The mark of a ratio that is not told from 1: how wide intervals are it says itself."""
    return mark if mark in SPOILED else ""


def unsettled(entry: Entry) -> bool:
    """Would more time make its interval narrower? That of several launches needs more of them instead."""
    return entry.launches == 1 and mark(entry) in (NOT_REACHED, NO_INTERVAL)


def without_interval(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Those that lack an interval, by why."""
    lacking = (entry for entry in entries if entry.precision is None)
    return grouped((SAME if entry.launches >= FEWEST_BATCHES else FEW, entry) for entry in lacking)


def widest(entries: Iterable[Entry]) -> float | None:
    """The half width of the widest interval, as a share; None where there is none.

    Ranks that copied alone count, too: tables have them.
    """
    widths = (width for entry in entries for width in (entry.precision, copies.alone_precision(entry)))
    return max((width for width in widths if width is not None), default=None)


@remembered
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
