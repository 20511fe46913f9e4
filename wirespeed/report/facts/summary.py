"""The answer of a run as one object: terminal, page, Markdown, JSON and ticket print it.

Its words are those of the statements; beside them are the values that a program reads.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from wirespeed.report.facts import awareness, markers, outcome, trust
from wirespeed.report.facts.doctor_findings import findings
from wirespeed.report.facts.machine import title
from wirespeed.report.facts.statement import BAD, WARNING, ReportSection, Statement
from wirespeed.report.facts.statements import statements
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.runs import Run


class BestSummary(Struct, frozen=True):
    """A best figure: the least time, or the highest bandwidth, of messages in one memory."""

    data: str
    figure: str
    """time or bandwidth."""
    path: str
    bytes: int
    seconds: float
    low: float
    high: float
    bytes_per_second: float
    mark: str
    words: str


class RangeSummary(Struct, frozen=True):
    """The fastest path for neighbouring sizes; `as_fast`: others that are as fast at all of them."""

    data: str
    first_bytes: int
    last_bytes: int
    path: str
    mark: str
    as_fast: Sequence[str]
    words: str


class AwareSummary(Struct, frozen=True):
    """Whether MPI takes device pointers and copies directly; null: not known."""

    good: bool | None
    words: str


class WiresSummary(Struct, frozen=True):
    """Wires that a path's largest messages travelled over, by counters."""

    path: str
    words: str


class FoundSummary(Struct, frozen=True):
    """A fault or a doubt; `subject`: a path, or nothing where the words say so."""

    level: str
    """bad or warning."""
    subject: str
    words: str


class MarkSummary(Struct, frozen=True):
    """A mark of figures, and how many have it."""

    mark: str
    meaning: str
    figures: int


class Summary(Struct, frozen=True, kw_only=True):
    """The answer of one run."""

    run: str
    pattern: str
    host: str
    started: str
    command: str
    title: str
    figures: int
    trust: trust.Trust | None
    """null: a run without figures."""
    best: Sequence[BestSummary]
    fastest: Sequence[RangeSummary]
    gpu_aware: AwareSummary | None
    """null: not tried."""
    wires: Sequence[WiresSummary]
    findings: Sequence[FoundSummary]
    marks: Sequence[MarkSummary]


class DoctorSummary(Struct, frozen=True):
    """A finding of the doctor on record in the same file."""

    title: str
    cost: str
    gain: str
    remedy: Sequence[str]


class Answer(Struct, frozen=True):
    """The answers of all runs of a command or a file."""

    trust: bool | None
    """Can the figures of all runs be relied on? null: there are none."""
    runs: Sequence[Summary]
    doctor: Sequence[DoctorSummary] = ()


def answer(runs: Iterable[Run], recorded: Iterable[RecordedFinding] = ()) -> Answer:
    """The answers of these runs; `recorded`: the doctor's findings in the same file."""
    found = [summary(run) for run in runs]
    known = [one.trust.good for one in found if one.trust]
    doctor = (DoctorSummary(each.title, each.cost, each.gain, each.remedy) for each in findings(recorded))
    return Answer(all(known) if known else None, found, [*doctor])


def summary(run: Run) -> Summary:
    """The answer of one run."""
    aware = awareness.answer(run)
    return Summary(
        run=run.name,
        pattern=run.head.plan.pattern,
        host=run.head.environment.host,
        started=run.head.started,
        command=shlex.join(run.head.command),
        title=title(run),
        figures=len(run.entries),
        trust=trust.trust(run) if run.entries else None,
        best=[_best(run, figure) for figure in trust.bests(run)],
        fastest=[_range(data, span) for data, spans in outcome.by_domain(run) for span in spans],
        gpu_aware=aware and AwareSummary(aware.good, aware.words),
        wires=[WiresSummary(path, words) for path in run.paths if (words := outcome.wires_words(run, path))],
        findings=[FoundSummary(each.level, each.subject, each.text) for each in alarms(run)],
        marks=marks(run),
    )


def alarms(run: Run) -> list[Statement]:
    """Faults and doubts, the worst first, without the line on trust that sums them up."""
    found = [each for each in statements(run) if each.level in (BAD, WARNING)]
    found = [each for each in found if (each.part, each.subject) != (ReportSection.ANSWER, "trust")]
    return sorted(found, key=lambda statement: statement.level != BAD)


def marks(run: Run) -> list[MarkSummary]:
    """The marks of the run's figures, in the order of their meanings."""
    counts = Counter(markers.sign(run, entry) for entry in run.entries.values())
    return [
        MarkSummary(mark, words, counts[mark]) for mark, words in markers.MEANINGS.items() if counts[mark]
    ]


def _best(run: Run, figure: trust.Best) -> BestSummary:
    entry = figure.entry
    return BestSummary(
        figure.data,
        "bandwidth" if figure.bandwidth else "time",
        entry.path,
        entry.bytes,
        entry.seconds,
        entry.low,
        entry.high,
        entry.rate,
        markers.sign(run, entry),
        figure.words,
    )


def _range(data: str, span: outcome.Span) -> RangeSummary:
    ends = span.first.bytes, span.last.bytes
    return RangeSummary(data, *ends, span.path, span.mark, span.equals, span.words)
