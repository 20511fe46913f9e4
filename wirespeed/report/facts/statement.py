"""The type of all that is said of a run."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

GOOD, NOTE, WARNING, BAD = "good", "note", "warning", "bad"


class ReportSection(Enum):
    """Place of a statement in a report, in the order in which a terminal has them."""

    ANSWER = "answer"
    DOUBTS = "doubts"
    PATHS = "paths"
    """Outcome of each path."""
    FASTEST = "fastest"
    WORTH = "worth"
    """Ratios of paths: a table has them size by size."""
    WIRES = "wires"
    PROGRAM = "program"
    TEAMS = "teams"
    COPIES = "copies"
    METHOD = "method"
    """Origin of the figures: read by those who ask."""
    COUNTERS = "counters"
    """Further of the method: each path's wires by their counters."""
    REPLACED = "replaced"
    """MPIs that failed, and those that were used instead: for those who ask."""
    SOAK = "soak"
    FAILURES = "failures"
    END = "end"


class Statement(NamedTuple):
    """Words about a run, without the full stop."""

    part: ReportSection
    level: str
    """Good, note, warning or bad."""
    subject: str
    """Topic: a path, a word; empty where the text says so."""
    text: str

    @property
    def words(self) -> str:
        """'trust: yes, 31 figures, ...'."""
        return f"{self.subject}: {self.text}" if self.subject else self.text

    @property
    def of_method(self) -> bool:
        """Does it say how figures came about, and nothing that a reader has to know?"""
        return self.part in (ReportSection.METHOD, ReportSection.COUNTERS) and self.level == NOTE
