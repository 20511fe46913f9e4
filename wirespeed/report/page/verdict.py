"""The verdict in plain words: what is good, what is slow, what broke, each with its figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wirespeed.limits import Ceiling
from wirespeed.report.facts import figures, health
from wirespeed.report.facts.best import Span, by_domain
from wirespeed.report.facts.cpu_contention import contended
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.machine import machine_names, mpi_title
from wirespeed.report.facts.markers import unsettled
from wirespeed.report.facts.shares import exceeds, share, unlimited
from wirespeed.report.facts.speedup import UNKNOWN, pairs
from wirespeed.report.facts.wire_verdicts import beyond, suspicions
from wirespeed.report.page.findings import findings
from wirespeed.report.page.sources import Measured, Source
from wirespeed.report.terminal.slowest_teams import FAR, NEAR, behind, describe
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_seconds, format_size

GOOD, NOTE, WARNING, BAD = "good", "note", "warning", "bad"
Sentence = tuple[str, str]
"""A level, and words without the full stop."""
AWARE = "aware"
STAGED = "staged"
DIRECT = ("direct", "network", "loopback", "inside", "pcie")
"""Verdicts that agree with an MPI that takes device pointers."""


class Verdict(NamedTuple):
    """A sentence, and how it is meant: good, note, warning or bad."""

    level: str
    text: str


def verdicts(sets: Sequence[Measured], sources: Sequence[Source]) -> list[tuple[str, list[Verdict]]]:
    """(heading, sentences): for each host and pattern those of the run with most figures."""
    heads: dict[tuple[str, str], Measured] = {}
    ranked = sorted(sets, key=lambda one: (-len(one.run.entries), -_ranks(one.run)))
    for machine, one in zip(machine_names([one.run for one in ranked]), ranked, strict=True):
        heads.setdefault((machine, one.pattern), one)
    groups = [
        (f"{one.pattern} on {machine} ({one.label})", [*_of_run(one.run)])
        for (machine, _), one in heads.items()
    ]
    if found := sum(bool(one.remedy) for one in findings(sources)):
        things = f"{found} thing{'s' if found > 1 else ''} to change"
        groups.append(("doctor", [(WARNING, f"The doctor found {things}: see Findings")]))
    elif not any(source.runs for source in sources):
        groups.append(("doctor", [(GOOD, "The doctor found nothing to change")]))
    return [
        (text(title), [Verdict(level, text(f"{sentence}.", 1000)) for level, sentence in sentences])
        for title, sentences in groups
        if sentences
    ]


def _ranks(run: Run) -> int:
    return max((len(run.step(path).ranks) for path in run.paths), default=0)


def _of_run(run: Run) -> Iterator[Sentence]:
    """The sentences about one run, the most important first."""
    yield from _doubtful(run)
    if run.view == "sizes" and run.entries:
        yield from _aware(run)
        yield from _fastest(run)
    elif run.view == "matrix":
        yield from _pairs(run)
    elif run.entries:
        yield from _each(run)
    yield from _worth(run)
    yield from _failed(run)
    yield from _unsure(run)
    yield from ((NOTE, line) for line in unlimited(run))


def _doubtful(run: Run) -> Iterator[Sentence]:
    """Impossible figures, and what a path declares and its wires deny."""
    yield from ((BAD, line) for line in beyond(run))
    yield from ((BAD if largest else WARNING, line) for line, largest in suspicions(run))
    yield from ((WARNING, line) for line in [*health.notes(run), *health.standing(run)])


def _aware(run: Run) -> Iterator[Sentence]:
    """Whether the MPI copies directly between GPUs, or stages unnoticed."""
    last = next((entry for entry in reversed(run.of_path(AWARE)) if entry.amount), None)
    if last is None:
        return
    mpi, limit = run.step(AWARE).mpi, run.ceiling(AWARE)
    name = mpi_title(mpi) if mpi else "MPI"
    sentence = f"{name} takes device pointers: {_figure(last, limit)}"
    level = GOOD
    seen = run.evidence.get((AWARE, last.bytes))
    through = run.ceiling_through_host(AWARE)
    if exceeds(last, limit):
        level = NOTE
    elif seen is not None and seen.verdict != "unknown":
        sentence += f"; {seen.text}"
        level = GOOD if seen.verdict in DIRECT else WARNING
    elif through and last.rate > through.rate:
        most = f"{format_rate(through.rate)} GB/s"
        sentence += f". Staging through host memory gives at most {most}: the copies are direct"
    elif through:
        most = f"{format_rate(through.rate)} GB/s"
        sentence += f". Staging through host memory could give as much ({most}): this MPI may stage unnoticed"
        level = WARNING
    yield level, sentence
    if staged := run.entries.get((STAGED, last.bytes)):
        fast, slow = sorted((last, staged), key=lambda entry: entry.seconds)
        times = figures.ratio(slow.seconds / fast.seconds)
        yield NOTE, f"At {format_size(last.bytes)} {fast.path} is {times} times as fast as {slow.path}"


def _figure(entry: Entry, limit: Ceiling | None) -> str:
    """'394 GB/s at 1 GiB, 88 % of the limit'."""
    part = share(entry, limit)
    figure = f"{format_rate(entry.rate)} GB/s at {format_size(entry.bytes)}"
    return figure if part is None else f"{figure}, {100 * part:.0f} % of the limit"


def _fastest(run: Run) -> Iterator[Sentence]:
    """Which path to use where."""
    for domain, found in by_domain(run):
        parts = [_use(run, span, span is found[-1]) for span in found]
        yield NOTE, f"Fastest for {domain} data: {'; '.join(parts)}"
    for path in run.paths:
        entries = [entry for entry in run.of_path(path) if entry.amount]
        if entries and entries[0].memory_domain not in run.competing and path != AWARE:
            yield NOTE, f"{path}: {_time(entries[0])}, {_figure(entries[-1], run.ceiling(path))}"


def _time(entry: Entry) -> str:
    return f"{format_seconds(entry.seconds)} at {format_size(entry.bytes)}"


def _use(run: Run, span: Span, last: bool) -> str:
    rated = last and span.last.amount
    figure = _figure(span.last, run.ceiling(span.path)) if rated else _time(span.first)
    return f"{span.path} for {span.sizes} ({figure})"


def _each(run: Run) -> Iterator[Sentence]:
    """Every path at its largest size, where paths are not compared."""
    largest = {entry.path: entry for path in run.paths for entry in run.of_path(path) if entry.amount}
    if largest:
        parts = [f"{path} {format_rate(entry.rate)} GB/s" for path, entry in largest.items()]
        yield NOTE, f"At the largest size: {', '.join(parts)}"


def _pairs(run: Run) -> Iterator[Sentence]:
    """The slowest pairs at each path's largest size."""
    for entry in (run.of_path(path)[-1] for path in run.paths):
        if len(entry.teams) > 1:
            level = WARNING if behind(entry) >= FAR else GOOD
            yield level, f"{entry.path}, {format_size(entry.bytes)}: {describe(entry)}"


def _worth(run: Run) -> Iterator[Sentence]:
    for pair in pairs(run):
        worths = [(size, worth) for size in run.sizes if (worth := pair.worth(run, size)) and worth.certain]
        size, worth = max(worths, key=lambda one: one[1].ratio, default=(0, None))
        if worth and worth.ratio >= 1 + NEAR:
            what = pair.what if pair.what != UNKNOWN else "it"
            longer = f"takes up to {figures.ratio(worth.ratio)} times as long (at {format_size(size)})"
            yield NOTE, f"{pair.path} without {what} ({pair.without}) {longer}"


def _failed(run: Run) -> Iterator[Sentence]:
    lacking = failure_lines(run, lacking=True)
    for line in failure_lines(run):
        head, words, style = line
        if style != "dim":
            level = NOTE if line not in lacking else BAD if style == "red" else WARNING
            yield level, f"{head}: {words}"
    if run.interrupted:
        yield WARNING, "This run was ended before all was measured"


def _unsure(run: Run) -> Iterator[Sentence]:
    yield from ((WARNING, text) for text in contended(run))
    wide = sum(map(unsettled, run.entries.values()))
    if wide and run.stopping:
        within = f"within the ±{figures.percent(run.stopping.precision)} asked for"
        remedy = "a longer --max-time makes them more precise"
        yield NOTE, f"{wide} of {len(run.entries)} figures are not {within}: {remedy}"
