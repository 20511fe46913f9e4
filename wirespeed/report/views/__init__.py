"""Views of a pattern's runs in a report: one file a view, by the name that patterns give it."""

from __future__ import annotations

from wirespeed.report.views.copies import CopiesView
from wirespeed.report.views.program import ProgramView
from wirespeed.report.views.size_table import View
from wirespeed.results.runs import Run

_VIEWS = {"sizes": View(), "copies": CopiesView(), "program": ProgramView()}


def view_of(run: Run) -> View:
    """The view that its pattern names."""
    return _VIEWS[run.traits.shown.view]
