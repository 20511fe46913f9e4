"""A report as Markdown, for a merge request or a wiki: the terminal's tables and the page's sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from wirespeed.report.console.columns import Row, Table
from wirespeed.report.facts.doctor_findings import findings
from wirespeed.report.facts.slowest_teams import describe
from wirespeed.report.facts.statement import ReportSection
from wirespeed.report.page.notes import WIDTH, about, failed, method, notes
from wirespeed.report.sources import ReportRun, Source, all_findings, measured, nothing_found
from wirespeed.report.views import pairs, view_of
from wirespeed.report.views.size_table import TableLayout, further
from wirespeed.results.coerce import text
from wirespeed.results.runs import Run

MAX_ROWS = 200
"""Sizes of one run in a table; the result file has the rest."""
_SIGNS = {"good": "✓", "note": "→", "warning": "!", "bad": "✕"}


def markdown(sources: Sequence[Source], lost: Sequence[str] = ()) -> str:
    """The whole report. `lost`: a line for each file not read."""
    sets = measured(sources)
    warnings = [*lost, *(f"{source.file}: {line}" for source in sources for line in source.warnings)]
    parts = ["# wirespeed report"]
    parts += [f"Left out: {plain(line)}" for line in warnings]
    said = notes(sets)
    for note in said:
        lines = (f"{_SIGNS[sentence.level]} {plain(sentence.text)}" for sentence in note.sentences)
        parts += _listed(f"**{plain(note.title)}**", lines)
    if nothing_found(sources):
        parts.append("The doctor found nothing to change.")
    elif not said:
        parts.append("These files contain no figures.")
    parts += _findings(sources)
    for figure_set in sets:
        parts += _run(figure_set, alone=len(sets) == 1)
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace").decode("utf-8")


def plain(value: object) -> str:
    """Text that means nothing to Markdown nor to HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&!])", r"\\\1", text(value, 1000)).replace("\\<", "&lt;")


def _listed(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """A list below its heading; nothing without lines."""
    if items := [f"- {line}" for line in lines]:
        yield "\n".join([heading, "", *items] if heading else items)


def _rows(left: Sequence[bool], rows: Iterable[Sequence[str]]) -> str:
    """Rows of texts, the first of which is the head, as Markdown."""
    head, *others = rows
    rule = ["---" if aligned else "---:" for aligned in left]
    cells = (head, *others)
    lines = [f"| {' | '.join(plain(cell) for cell in row)} |" for row in cells]
    return "\n".join([lines[0], f"| {' | '.join(rule)} |", *lines[1:]])


def tables(shown: Table[Row]) -> Iterator[str]:
    """A table for each section."""
    return (_rows([column.left for column in shown.columns], rows) for rows in shown.texts())


def _findings(sources: Sequence[Source]) -> Iterator[str]:
    found = findings(all_findings(sources))
    if found:
        yield "## Findings"
    for match in found:
        told = [("cost", match.cost), ("measured", match.worth)]
        told += [("evidence", line) for line in match.evidence]
        yield from _listed(f"**{plain(match.title)}**", (f"{name}: {plain(s)}" for name, s in told if s))
        if match.remedy:
            # A paragraph between: else the lines would belong to the list.
            yield "What to do:"
            yield "\n".join(f"    {line}" for line in match.remedy)
    useless = findings(all_findings(sources), refuted=True)
    lines = (f"{plain(match.title)}: {plain(match.worth)}" for match in useless)
    yield from _listed("**Tried, and nothing gained**", lines)


def _run(measured: ReportRun, *, alone: bool) -> Iterator[str]:
    run = measured.run
    yield f"## {plain(measured.pattern)}" + ("" if alone else f": {plain(measured.label)}")
    sizes = run.sizes[:MAX_ROWS]
    layout = view_of(run).layout(WIDTH, run, sizes) if run.figures else TableLayout([])
    for shown in (*layout.tables, *further(run, layout, sizes)):
        yield from tables(shown)
    if len(run.sizes) > MAX_ROWS:
        yield f"{len(run.sizes) - MAX_ROWS} more sizes are in {plain(measured.file)}."
    yield from _matrices(run)
    gone = (f"**{plain(said.subject)}**: {plain(said.text)}" for said in failed(run))
    yield from _listed("What gave no figure:", gone)
    described = about(measured, layout)
    yield _rows([True, True], [("", ""), *described.facts])
    yield from _listed("", map(plain, [*described.method, *method(run, ReportSection.COUNTERS)]))


def _matrices(run: Run) -> Iterator[str]:
    """Each path and size: rows and columns are ranks."""
    for entry, heading, matrix in pairs.matrix_tables(run):
        yield f"{plain(heading)}; {plain(describe(entry))}:"
        yield from tables(matrix)
    for heading, fan in pairs.fan_tables(run):
        yield f"{plain(heading)}:"
        yield from tables(fan)
