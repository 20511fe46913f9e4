"""View of a run in a report: its tables on a terminal, its tiles and tables on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.report.console.columns import Table
from wirespeed.report.views.size_table import TableLayout, lay_out
from wirespeed.results.runs import Entry, Run


class View:
    """Rows by size on a terminal, curves on the page; other views override what they show otherwise."""

    curves = True
    """Are figures drawn against the message size?"""
    caption = ""
    """Words below what is said of the run, on a terminal."""
    legend = ""
    """Further words on the columns, for those who ask."""

    def layout(self, width: int, run: Run, sizes: Sequence[int]) -> TableLayout:
        """Tables of these sizes on a terminal that is so wide."""
        return lay_out(width, run, sizes)

    def tables(self, width: int, run: Run) -> Sequence[Table[Any]]:
        """Tables of its own, which the page has, too; none where rows by size tell all."""
        return ()

    def tiles(self, run: Run, entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
        """(name, value, note) of the page's first figures; none: those of curves suit."""
        return []
