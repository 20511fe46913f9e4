"""All that is said of a run, made once: the terminal, the page and Markdown print the same list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirespeed.report.facts import (
    awareness,
    contrasts,
    copies,
    failures,
    health,
    markers,
    others,
    outcome,
    programs,
    slowest_teams,
    soaks,
    spoiled,
    trust,
    wire_verdicts,
)
from wirespeed.report.facts.legend import Layout, legend, speeds
from wirespeed.report.facts.outcome import by_domain
from wirespeed.report.facts.shares import unlimited
from wirespeed.report.facts.statement import BAD, GOOD, NOTE, WARNING, ReportSection, Statement
from wirespeed.report.facts.transport_choices import choices, library_start, pointers, sent_as
from wirespeed.results.curves import curve_findings
from wirespeed.results.runs import Run, remembered

WHOLE = Layout(spread=True)
"""The page's table of all figures."""
Line = str | tuple[str, str] | tuple[str, str, str]
"""Words; (subject, words); (subject, words, level) where lines of one kind have several levels."""
Kind = tuple[ReportSection, str, Iterable[Line]]


@remembered
def statements(run: Run, layout: Layout = WHOLE) -> list[Statement]:
    """Each once, in the order of their parts. `layout`: the tables that a legend explains."""
    kinds = (*(_of_figures(run, layout) if run.figures else _gpu_aware(run)), *_of_run(run))
    return [*dict.fromkeys(_statement(part, level, line) for part, level, lines in kinds for line in lines)]


def _statement(part: ReportSection, level: str, line: Line) -> Statement:
    if isinstance(line, str):
        return Statement(part, level, "", line)
    return Statement(part, line[2] if len(line) > 2 else level, line[0], line[1])


def _gpu_aware(run: Run) -> Iterator[Kind]:
    if aware := awareness.answer(run):
        yield ReportSection.FASTEST, aware.level, [("GPU-aware MPI", aware.words)]


def _of_figures(run: Run, layout: Layout) -> Iterator[Kind]:
    yield ReportSection.ANSWER, NOTE, _answer(run)
    doubts: Iterable[Line] = (
        *markers.notes(run),
        *copies.notes(run),
        *spoiled.mixed(run).values(),
        *spoiled.late_starts(run),
        *spoiled.sharing(run),
        *health.notes(run),
        *health.standing(run),
        *((path, f"{found.seen}: {found.cause}") for path, found in curve_findings(run)),
    )
    yield ReportSection.DOUBTS, WARNING, doubts
    outcomes = ((path, outcome.words(run, path)) for path in run.paths)
    yield ReportSection.PATHS, NOTE, ((path, words) for path, words in outcomes if words)
    for domain, spans in by_domain(run):
        words = "; ".join(span.words for span in spans)
        yield ReportSection.FASTEST, NOTE, [(f"fastest for {domain} data", words)]
    yield ReportSection.FASTEST, NOTE, outcome.fresh(run)
    yield from _gpu_aware(run)
    yield ReportSection.WORTH, NOTE, (*awareness.against_staged(run), *contrasts.most(run))
    wires: Iterable[Line] = (*sent_as(run), *wire_verdicts.nic_lines(run))
    yield ReportSection.WIRES, NOTE, wires
    suspicions = wire_verdicts.suspicions(run)
    yield ReportSection.WIRES, BAD, (("", line, BAD if largest else WARNING) for line, largest in suspicions)
    yield ReportSection.WIRES, WARNING, wire_verdicts.nic_doubts(run)
    yield ReportSection.WIRES, BAD, (*wire_verdicts.misnamed(run), *wire_verdicts.beyond(run))
    yield ReportSection.WIRES, NOTE, _checked(outcome.payload(run))
    yield ReportSection.PROGRAM, NOTE, programs.lines(run)
    slow = slowest_teams.lines(run)
    yield ReportSection.TEAMS, NOTE, ((name, words, WARNING if far else NOTE) for far, name, words in slow)
    yield ReportSection.TEAMS, WARNING, slowest_teams.slow_ranks(run)
    counted = wire_verdicts.host_copies(run)
    yield ReportSection.COPIES, NOTE, [("copies by each rank in an iteration", counted)] * bool(counted)
    yield from _method(run, layout)


def _answer(run: Run) -> Iterator[Line]:
    """The best figures, and whether all of them can be relied on."""
    if best := trust.headline(run):
        yield "best", best
    if run.entries:
        told = trust.trust(run)
        yield "trust", told.words, GOOD if told.good else WARNING
    for path, reference in others.references(run):
        yield path, others.words(run, reference), WARNING if reference.verdict == "below" else NOTE


def _checked(told: tuple[str, bool] | None) -> list[Line]:
    return [("", told[0], GOOD if told[1] else BAD)] if told else []


def _method(run: Run, layout: Layout) -> Iterator[Kind]:
    notes = (*library_start(run), *unlimited(run), *legend(run, layout))
    notes = (*notes, *outcome.readings(run), *health.corrected(run))
    yield ReportSection.METHOD, NOTE, (*(("others measured", s) for s in others.sources(run)), *notes)
    yield ReportSection.METHOD, WARNING, speeds(list(run.entries.values()))
    yield ReportSection.METHOD, NOTE, (*choices(run), *pointers(run))
    yield ReportSection.COUNTERS, NOTE, wire_verdicts.counted(run)


def _of_run(run: Run) -> Iterator[Kind]:
    replaced = ((subject, words) for subject, words, _ in failures.failure_lines(run, replaced=True))
    yield ReportSection.REPLACED, NOTE, replaced
    yield ReportSection.SOAK, BAD, soaks.first_wrong(run)
    yield ReportSection.SOAK, WARNING, soaks.notes(run)
    yield ReportSection.SOAK, NOTE, [*_checked(soaks.verdict(run)), *filter(None, [soaks.larger(run)])]
    yield ReportSection.FAILURES, NOTE, failures.failure_lines(run)
    ended = ["This run was ended before all was measured"] * run.interrupted
    yield ReportSection.END, WARNING, [*filter(None, [failures.left_out(run)]), *ended]
