"""The page's sections, one for each pattern: its curves with everything else that is known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.report.facts.best import Span, by_domain
from wirespeed.report.facts.statement import BAD, WARNING
from wirespeed.report.page.notes import Notes, notes, weight
from wirespeed.report.sources import ReportRun
from wirespeed.report.views import bars
from wirespeed.report.views.base import Bars


@dataclass(frozen=True)
class Section:
    """All of one pattern."""

    pattern: str
    answer: str
    """In a line, for a reader who does not open the section."""
    notes: list[Notes]
    bests: list[tuple[ReportRun, list[tuple[str, list[Span]]]]]
    """(run, (domain, spans)) where paths compete, most figures first."""
    bars: list[Bars]

    @property
    def count(self) -> str:
        """'9 notes, 1 warning'."""
        levels = Counter(sentence.level for note in self.notes for sentence in note.sentences)
        parts = [(levels.total(), "note"), (levels[BAD], "alarm"), (levels[WARNING], "warning")]
        return ", ".join(f"{number} {noun}{'s' if number > 1 else ''}" for number, noun in parts if number)


def sections(sets: Sequence[ReportRun], patterns: Sequence[str]) -> list[Section]:
    """In the order of `patterns`, then those without figures."""
    said = notes(sets)
    order = dict.fromkeys([*patterns, *(note.pattern for note in said)])
    return [
        _section(
            [measured for measured in sets if measured.pattern == name],
            [note for note in said if note.pattern == name],
        )
        for name in order
    ]


def _section(sets: Sequence[ReportRun], notes: list[Notes]) -> Section:
    main = max(sets, key=weight)
    answer = notes[0].sentences[0].text if notes else ""
    bests = [(measured, domains) for measured in sets if (domains := by_domain(measured.run))]
    return Section(main.pattern, answer.rstrip("."), notes, bests, bars(sets))
