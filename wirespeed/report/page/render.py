"""The report page put together: its answers, its sections, its data as one JSON block."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.report.facts.cells import rate_cell, time_cell
from wirespeed.report.facts.doctor_findings import findings
from wirespeed.report.facts.machine import dates
from wirespeed.report.facts.markers import MEANINGS, meanings
from wirespeed.report.facts.statement import ReportSection
from wirespeed.report.page.answers import Answers, answers
from wirespeed.report.page.data import page_data
from wirespeed.report.page.notes import about, failed, method, sections
from wirespeed.report.page.styles import styles
from wirespeed.report.page.template import page
from wirespeed.report.sources import Source, all_findings, measured, nothing_found

MAX_NAMED = 2
"""Machines in the title of a list of them."""


def render(sources: Sequence[Source], lost: Sequence[str] = ()) -> str:
    """The whole page. `lost`: a line for each file that could not be read."""
    sets = measured(sources)
    looks = styles(sorted({path for measured in sets for path in measured.run.paths}, key=str))
    found = answers(sets, sources)
    data = page_data(sets, looks, found[0].machine.main.pattern if found else "")
    return page(
        "page.html.j2",
        {},
        title=_title(found),
        dates=dates(measured.run for measured in sets),
        machines=found,
        named=_named(found),
        marks=meanings(*MEANINGS),
        time_cell=time_cell,
        rate_cell=rate_cell,
        data=data,
        looks=looks,
        sets=sets,
        sections=sections(sets, [chart["pattern"] for chart in data["charts"]]),
        counted=[
            (measured, lines) for measured in sets if (lines := method(measured.run, ReportSection.COUNTERS))
        ],
        findings=findings(all_findings(sources)),
        refuted=findings(all_findings(sources), refuted=True),
        nothing=nothing_found(sources),
        failed=[(measured, gone) for measured in sets if (gone := failed(measured.run))],
        abouts=[*map(about, sets)],
        warnings=[*lost, *(f"{source.file}: {line}" for source in sources for line in source.warnings)],
    )


def _title(found: Sequence[Answers]) -> str:
    return f"{len(found)} machines" if len(found) > 1 else found[0].machine.name if found else "no figures"


def _named(found: Sequence[Answers]) -> str:
    """'n1, n2 and 3 more'."""
    names = ", ".join(answers.machine.name for answers in found[:MAX_NAMED])
    return f"{names} and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else names
