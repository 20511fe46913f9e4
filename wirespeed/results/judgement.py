"""The figures of a run, told apart by whether they can be true."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import groupby

from wirespeed.grouping import grouped
from wirespeed.paths import table_order
from wirespeed.results.contradiction import GIVEN
from wirespeed.results.contradictions import REMEDY
from wirespeed.results.model import Entry, Failure

IMPOSSIBLE = "impossible"
"""Kind of failure that a figure becomes if it cannot be true."""


class Judged:
    """All figures, those that can be true, the others, and a failure for each launch of these."""

    def __init__(self, figures: dict[tuple[str, int], Entry]) -> None:
        self.figures = figures
        self.entries = {key: entry for key, entry in figures.items() if not entry.impossible}
        self.impossible = {key: entry for key, entry in figures.items() if entry.impossible}
        self.failures = [
            Failure(
                run=launch.run,
                step=launch.step,
                launch=launch.launch,
                path=launch.path,
                bytes=launch.bytes,
                what=IMPOSSIBLE,
                text=launch.why_impossible,
                remedy=REMEDY if any(found.rule != GIVEN for found in launch.impossible) else None,
                at=launch.at,
            )
            for entry in self.impossible.values()
            for launch in entry.each
            if launch.impossible
        ]

    @cached_property
    def paths(self) -> list[str]:
        """Paths with at least one figure, true or not, in table order."""
        return sorted(dict.fromkeys(path for path, _ in self.figures), key=table_order)

    @cached_property
    def by_path(self) -> dict[str, list[Entry]]:
        """The figures that can be true of each path, smallest size first."""
        ordered = sorted(self.entries.values(), key=lambda entry: (entry.path, entry.bytes))
        return {path: [*found] for path, found in groupby(ordered, key=lambda entry: entry.path)}

    @cached_property
    def ranked(self) -> dict[tuple[int, str], list[Entry]]:
        """By size and memory domain, the figures that may be named the fastest, best first.

        Those that are sure, and the slowed ones that are faster even so: a rank that waits for a CPU only
        takes longer. Uncertain ones are not among them.
        """
        certain = (entry for entry in self.entries.values() if not entry.uncertain)
        ordered = sorted(certain, key=lambda entry: (entry.reckoned_s, entry.contended))
        cells = grouped(((entry.bytes, entry.memory_domain), entry) for entry in ordered)
        return {key: [*_not_behind(cell)] for key, cell in cells.items()}


def _not_behind(cell: list[Entry]) -> Iterator[Entry]:
    """Without slowed ones behind one that is sure."""
    is_sure = False
    for entry in cell:
        is_sure = is_sure or entry.sure
        if entry.sure or not is_sure:
            yield entry
