"""A report as Markdown: what a merge request or a wiki can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter

from rich.text import Text

from wirespeed.limits import Ceiling
from wirespeed.report.console.columns import Cell, Column, Row
from wirespeed.report.facts import best, figures
from wirespeed.report.facts.cells import CellWords, rate_cell, time_cell
from wirespeed.report.facts.contrasts import Contrast, contrasts, doubt_of
from wirespeed.report.facts.doctor_findings import findings
from wirespeed.report.facts.figure_columns import FigureColumn, figure_columns
from wirespeed.report.facts.legend import RANGE, Layout
from wirespeed.report.facts.markers import FAR_OFF, sign
from wirespeed.report.facts.shares import percent, share
from wirespeed.report.facts.slowest_teams import describe
from wirespeed.report.facts.statement import ReportSection
from wirespeed.report.page.about import about
from wirespeed.report.page.answers import answers
from wirespeed.report.page.data import limits
from wirespeed.report.page.notes import failed, method, notes
from wirespeed.report.sources import ReportRun, Source, all_findings, measured, nothing_found
from wirespeed.report.views import pairs as pair_views
from wirespeed.report.views.base import doubt
from wirespeed.results.coerce import text
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import format_rate, format_size

MAX_ROWS = 200
"""Sizes of one run in a table; the result file has the rest."""
_SIGNS = {"good": "✓", "note": "→", "warning": "!", "bad": "✕"}


def markdown(sources: Sequence[Source], lost: Sequence[str] = ()) -> str:
    """The whole report, with the same parts as the page. `lost`: a line for each file not read."""
    sets = measured(sources)
    warnings = [*lost, *(f"{source.file}: {line}" for source in sources for line in source.warnings)]
    parts = ["# wirespeed report"]
    parts += [f"Left out: {plain(line)}" for line in warnings]
    parts += _verdict(sets, sources)
    parts += _findings(sources)
    for figure_set in sets:
        parts += _run(figure_set, alone=len(sets) == 1)
    parts += _limits(sets)
    text_of = "\n\n".join(parts) + "\n"
    return text_of.encode("utf-8", "replace").decode("utf-8")


def plain(value: object) -> str:
    """Text that means nothing to Markdown nor to HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&!])", r"\\\1", text(value, 1000)).replace("\\<", "&lt;")


def table(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> str:
    """Columns and rows as Markdown."""
    heads = [plain(column.head) for column in columns]
    rule = ["---" if column.left else "---:" for column in columns]
    cells = [[plain(_words(column.cell(row))) for column in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *cells))


def _words(cell: Cell) -> str:
    return cell.plain if isinstance(cell, Text) else cell or ""


def _texts(*heads: str) -> list[Column[Sequence[str]]]:
    """Columns of texts, for rows that are texts already."""
    return [Column(head, itemgetter(number), left=True) for number, head in enumerate(heads)]


def _verdict(sets: Sequence[ReportRun], sources: Sequence[Source]) -> Iterator[str]:
    told = [
        (
            "; ".join(filter(None, (answer.machine.name, answer.machine.line, answer.machine.dates))),
            answer.sentences,
        )
        for answer in answers(sets, sources)
    ]
    told += [(note.title, note.sentences) for note in notes(sets)]
    for heading, sentences in told:
        lines = [f"- {_SIGNS[sentence.level]} {plain(sentence.text)}" for sentence in sentences]
        yield "\n".join([f"**{plain(heading)}**", "", *lines])
    if nothing_found(sources):
        yield "The doctor found nothing to change."
    elif not told:
        yield "These files contain no figures."


def _findings(sources: Sequence[Source]) -> Iterator[str]:
    found = findings(all_findings(sources))
    if found:
        yield "## Findings"
    for match in found:
        told = [("cost", match.cost), ("measured", match.worth)]
        told += [("evidence", line) for line in match.evidence]
        lines = [f"- {name}: {plain(said)}" for name, said in told if said]
        yield "\n".join([f"**{plain(match.title)}**", "", *lines])
        if match.remedy:
            # A paragraph between: else the lines would belong to the list.
            yield "What to do:"
            yield "\n".join(f"    {line}" for line in match.remedy)
    if useless := findings(all_findings(sources), refuted=True):
        lines = [f"- {plain(match.title)}: {plain(match.worth)}" for match in useless]
        yield "\n".join(["**Tried, and nothing gained**", "", *lines])


def _run(measured: ReportRun, *, alone: bool) -> Iterator[str]:
    yield f"## {plain(measured.pattern)}" + ("" if alone else f": {plain(measured.label)}")
    for domain, spans in best.by_domain(measured.run):
        columns: list[Column[best.Span]] = [
            Column(f"{domain} data", lambda span: span.sizes, left=True),
            Column("use", lambda span: span.name, left=True),
            Column("time", lambda span: time_cell(measured.run, span.first).spaced),
            Column("GB/s", lambda span: _rate_of(measured.run, span.last)),
            Column("as fast", lambda span: span.as_fast),
        ]
        yield table(columns, spans)
    if measured.run.figures:
        yield from _figures(measured)
    yield from _matrices(measured.run)
    lines = [f"- **{plain(said.subject)}**: {plain(said.text)}" for said in failed(measured.run)]
    if lines:
        yield "\n".join(["What gave no figure:", "", *lines])
    described = about(measured, Layout(compact=True, wide=(RANGE, FAR_OFF)))
    yield table(_texts("", ""), described.facts)
    if lines := [*described.method, *method(measured.run, ReportSection.COUNTERS)]:
        yield "\n".join(f"- {plain(line)}" for line in lines)


def _figures(measured: ReportRun) -> Iterator[str]:
    """A row a size: first each path's time and the price of switches, then bandwidths, of the limit."""
    run, sizes = measured.run, measured.run.sizes[:MAX_ROWS]
    columns: list[Column[int]] = [Column(run.time_label, format_size, left=True)]
    columns += [Column(path, partial(_time, run, path)) for path in run.paths]
    columns += [Column(each.title, partial(_contrast, run, each)) for each in contrasts(run)]
    yield table(columns, sizes)
    if any(entry.amount for entry in run.figures.values()):
        columns = [Column("GB/s (of limit)", format_size, left=True)]
        columns += [Column(path, partial(_rate, run, path, run.ceiling(path))) for path in run.paths]
        yield table(columns, filter(None, sizes))
    for more in figure_columns(run):
        columns = [Column(more.title, format_size, left=True)]
        columns += [Column(path, partial(_more, run, path, more)) for path in run.paths]
        yield table(columns, sizes)
    if len(run.sizes) > MAX_ROWS:
        yield f"{len(run.sizes) - MAX_ROWS} more sizes are in {plain(measured.file)}."


def _matrices(run: Run) -> Iterator[str]:
    """Each path and size: rows and columns are ranks."""
    for entry, heading, matrix in pair_views.matrix_tables(run):
        yield f"{plain(heading)}; {plain(describe(entry))}:"
        yield table(matrix.columns, matrix.rows)
    for heading, fan in pair_views.fan_tables(run):
        yield f"{plain(heading)}:"
        yield table(fan.columns, fan.rows)


def _time(run: Run, path: str, size: int) -> str:
    entry = run.entries.get((path, size))
    if entry is None:
        failure = run.failure(path, size)
        return figures.SHORT.get(failure.what, failure.what) if failure else ""
    return time_cell(run, entry).spaced + doubt(entry)


def _rate_of(run: Run, entry: Entry) -> str:
    return rate_cell(run, entry).spaced if entry.amount else ""


def _rate(run: Run, path: str, limit: Ceiling | None, size: int) -> str:
    if (path, size) in run.impossible:
        return IMPOSSIBLE
    entry = run.entries.get((path, size))
    if entry is None or not entry.amount:
        return ""
    part = share(entry, limit)
    of_limit = f" ({percent(part)})" if part is not None else ""
    return rate_cell(run, entry).spaced + of_limit + doubt(entry)


def _more(run: Run, path: str, column: FigureColumn, size: int) -> str | None:
    entry = run.entries.get((path, size))
    cell = entry and column.cell(entry)
    return CellWords(sign(run, entry), cell).spaced if entry and cell else None


def _contrast(run: Run, contrast: Contrast, size: int) -> str:
    if (found := contrast.of(run, size)) is None:
        return ""
    mark, end = doubt_of(found)
    return f"{mark}{found.words}{end}"


def _limits(sets: Sequence[ReportRun]) -> Iterator[str]:
    found = limits(measured.run for measured in sets)
    if found:
        yield "## Limits"
        yield "\n".join(
            f"- {format_rate(record['rate'])} GB/s for {plain(', '.join(record['paths']))}: "
            f"{plain(record['equation'])} ({plain(record['source'])})"
            for record in found
        )
