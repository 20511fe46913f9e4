"""Views of a pattern's runs in a report: one file a view, by the name that patterns give it."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.report.grouping import grouped
from wirespeed.report.sources import ReportRun
from wirespeed.report.views.base import Bars, View
from wirespeed.report.views.copies import CopiesView
from wirespeed.report.views.program import ProgramView
from wirespeed.results.runs import Run

_VIEWS = {"sizes": View(), "copies": CopiesView(), "program": ProgramView()}


def view_of(run: Run) -> View:
    """The view that its pattern names."""
    return _VIEWS[run.traits.shown.view]


def bars(sets: Sequence[ReportRun]) -> list[Bars]:
    """The bars of all views, without empty groups."""
    views = grouped((view_of(measured.run), measured) for measured in sets)
    return [group for view, alike in views.items() for group in view.bars(alike) if group.bars]
