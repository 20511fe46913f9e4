"""The figures of a run, told apart by whether they can be true."""

from __future__ import annotations

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
                remedy=REMEDY,
                at=launch.at,
            )
            for entry in self.impossible.values()
            for launch in entry.each
            if launch.impossible
        ]
