"""All that is said of a run, made once: the terminal, the page and Markdown print the same list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirespeed.report.facts import (
    awareness,
    contrasts,
    copies,
    failures,
    fresh,
    health,
    left_out,
    markers,
    nics,
    others,
    outcome,
    programs,
    slow_ranks,
    slowest_teams,
    soaks,
    spoiled,
    trust,
    wire_verdicts,
)
from wirespeed.report.facts.best import by_domain
from wirespeed.report.facts.legend import Layout, legend, speeds
from wirespeed.report.facts.shares import unlimited
from wirespeed.report.facts.statement import BAD, GOOD, NOTE, WARNING, ReportSection, Statement
from wirespeed.report.facts.transport_choices import choices, library_start, pointers, sent_as
from wirespeed.results.curves import curve_findings
from wirespeed.results.runs import Run, remembered

WHOLE = Layout(spread=True)
"""The page's table of all figures."""


@remembered
def statements(run: Run, layout: Layout = WHOLE) -> list[Statement]:
    """Each once, in the order of their parts. `layout`: the tables that a legend explains."""
    return [*dict.fromkeys(_all(run, layout))]


def _all(run: Run, layout: Layout) -> Iterator[Statement]:
    if run.figures:
        yield from _answer(run)
        yield from _doubts(run)
        yield from _paths(run)
        yield from _wires(run)
        for subject, words in (("GPUDirect", programs.gpudirect(run)), ("physics", programs.constant(run))):
            if words:
                yield Statement(ReportSection.PROGRAM, NOTE, subject, words)
        for subject, words in programs.converged(run):
            yield Statement(ReportSection.PROGRAM, NOTE, subject, words)
        for far, subject, words in slowest_teams.lines(run):
            yield Statement(ReportSection.TEAMS, WARNING if far else NOTE, subject, words)
        for subject, words in slow_ranks.lines(run):
            yield Statement(ReportSection.TEAMS, WARNING, subject, words)
        if counted := wire_verdicts.host_copies(run):
            subject = "copies by each rank in an iteration"
            yield Statement(ReportSection.COPIES, NOTE, subject, counted)
        yield from _method(run, layout)
    for subject, words, _ in failures.failure_lines(run, replaced=True):
        yield Statement(ReportSection.REPLACED, NOTE, subject, words)
    yield from _soaks(run)
    for subject, words, level in failures.failure_lines(run):
        yield Statement(ReportSection.FAILURES, level, subject, words)
    if words := left_out.line(run):
        yield Statement(ReportSection.END, WARNING, "", words)
    if run.interrupted:
        yield Statement(ReportSection.END, WARNING, "", "This run was ended before all was measured")


def _lines(part: ReportSection, level: str, lines: Iterable[str]) -> Iterator[Statement]:
    return (Statement(part, level, "", line) for line in lines)


def _answer(run: Run) -> Iterator[Statement]:
    """The best figures, and whether all of them can be relied on."""
    if best := trust.headline(run):
        yield Statement(ReportSection.ANSWER, NOTE, "best", best)
    if run.entries:
        told = trust.trust(run)
        yield Statement(ReportSection.ANSWER, GOOD if told.good else WARNING, "trust", told.words)
    for path, reference in others.references(run):
        level = WARNING if reference.verdict == "below" else NOTE
        yield Statement(ReportSection.ANSWER, level, path, others.words(run, reference))


def _doubts(run: Run) -> Iterator[Statement]:
    for lines in (
        markers.notes(run),
        copies.notes(run),
        spoiled.mixed(run).values(),
        spoiled.late_starts(run),
        spoiled.sharing(run),
        health.notes(run),
        health.standing(run),
    ):
        yield from _lines(ReportSection.DOUBTS, WARNING, lines)
    for path, found in curve_findings(run):
        yield Statement(ReportSection.DOUBTS, WARNING, path, f"{found.seen}: {found.cause}")


def _paths(run: Run) -> Iterator[Statement]:
    """What came of each path, which one to use, and what switches and GPU-aware MPI are worth."""
    for path in run.paths:
        if words := outcome.words(run, path):
            yield Statement(ReportSection.PATHS, NOTE, path, words)
    for domain, spans in by_domain(run):
        parts = [f"{span.shown} for {span.words}" for span in spans]
        yield Statement(ReportSection.FASTEST, NOTE, f"fastest for {domain} data", "; ".join(parts))
    for subject, words in fresh.lines(run):
        yield Statement(ReportSection.FASTEST, NOTE, subject, words)
    if aware := awareness.answer(run):
        level = {True: GOOD, False: WARNING, None: NOTE}[aware.good]
        yield Statement(ReportSection.FASTEST, level, "GPU-aware MPI", aware.words)
    for subject, words in (*awareness.against_staged(run), *contrasts.most(run)):
        yield Statement(ReportSection.WORTH, NOTE, subject, words)


def _wires(run: Run) -> Iterator[Statement]:
    """What the wires say and deny, what no limit allows, and what was compared."""
    for paths, words in sent_as(run):
        yield Statement(ReportSection.WIRES, NOTE, paths, words)
    yield from _lines(ReportSection.WIRES, NOTE, nics.lines(run))
    for line, largest in wire_verdicts.suspicions(run):
        yield Statement(ReportSection.WIRES, BAD if largest else WARNING, "", line)
    yield from _lines(ReportSection.WIRES, WARNING, nics.doubts(run))
    yield from _lines(ReportSection.WIRES, BAD, (*wire_verdicts.misnamed(run), *wire_verdicts.beyond(run)))
    if checked := outcome.payload(run):
        words, right = checked
        yield Statement(ReportSection.WIRES, GOOD if right else BAD, "", words)


def _method(run: Run, layout: Layout) -> Iterator[Statement]:
    for words in others.sources(run):
        yield Statement(ReportSection.METHOD, NOTE, "others measured", words)
    started = filter(None, [library_start(run)])
    notes = (*started, *unlimited(run), *legend(run, layout), *outcome.readings(run), *health.corrected(run))
    yield from _lines(ReportSection.METHOD, NOTE, notes)
    yield from _lines(ReportSection.METHOD, WARNING, speeds(list(run.entries.values())))
    for subject, words in (*choices(run), *pointers(run)):
        yield Statement(ReportSection.METHOD, NOTE, subject, words)
    for subject, words in wire_verdicts.counted(run):
        yield Statement(ReportSection.COUNTERS, NOTE, subject, words)


def _soaks(run: Run) -> Iterator[Statement]:
    for subject, words in soaks.first_wrong(run):
        yield Statement(ReportSection.SOAK, BAD, subject, words)
    yield from _lines(ReportSection.SOAK, WARNING, soaks.notes(run))
    if told := soaks.verdict(run):
        words, right = told
        yield Statement(ReportSection.SOAK, GOOD if right else BAD, "", words)
    if larger := soaks.larger(run):
        yield Statement(ReportSection.SOAK, NOTE, "", larger)
