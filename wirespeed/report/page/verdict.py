"""The verdict in plain words: what is good, what is slow, what broke, each with its figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wirespeed.limits import Ceiling
from wirespeed.report.facts import figures, health, nics, shared_gpus, soaks, start_skew, two_speeds
from wirespeed.report.facts.awareness import AWARE, STAGED, awareness, reason
from wirespeed.report.facts.best import Span, by_domain
from wirespeed.report.facts.cpu_contention import contended
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.figures import other_mpi
from wirespeed.report.facts.markers import doubts, sign, unsettled
from wirespeed.report.facts.shares import share, unlimited
from wirespeed.report.facts.slowest_teams import FAR, NEAR, behind, describe
from wirespeed.report.facts.speedup import UNKNOWN, pairs
from wirespeed.report.facts.wire_verdicts import beyond, suspicions
from wirespeed.report.grouping import grouped
from wirespeed.report.page.machines import machines
from wirespeed.report.page.sources import ReportRun
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_seconds, format_size

GOOD, NOTE, WARNING, BAD = "good", "note", "warning", "bad"
Sentence = tuple[str, str]
"""A level, and words without the full stop."""


class Verdict(NamedTuple):
    """A sentence, and how it is meant: good, note, warning or bad."""

    level: str
    text: str


class Notes(NamedTuple):
    """Sentences about one pattern on one machine."""

    pattern: str
    title: str
    sentences: list[Verdict]


def verdicts(sets: Sequence[ReportRun]) -> list[Notes]:
    """For each machine and pattern the sentences about its run with most figures.

    A sentence that holds for several patterns stands at the first one, which names the others.
    """
    names = {measured.number: machine.name for machine in machines(sets) for measured in machine.sets}
    heads: dict[tuple[str, str], ReportRun] = {}
    for measured in sorted(sets, key=weight, reverse=True):
        # A soak has no figures, and says something else than the pattern's run that has.
        soak = " (soak)" if measured.run.soaks else ""
        heads.setdefault((names[measured.number], measured.pattern + soak), measured)
    said = {number: of_run(head.run) for number, head in enumerate(heads.values())}
    places = grouped((sentence, number) for number, sentences in said.items() for sentence in sentences)
    keys = [*heads]
    notes = []
    for number, head in enumerate(heads.values()):
        sentences = [
            Verdict(level, text(f"{words}{_also([keys[place] for place in found])}.", 1000))
            for level, words in said[number]
            if (found := places[Verdict(level, words)])[0] == number
        ]
        if not number:
            sentences += [Verdict(NOTE, text(f"{words}.")) for words in _unsure(sets)]
        title = text(f"{head.pattern} on {names[head.number]}")
        notes.append(
            Notes(head.pattern, title if head.label in title else f"{title}: {head.label}", sentences)
        )
    return [note for note in notes if note.sentences]


def _also(keys: Sequence[tuple[str, str]]) -> str:
    """' (the same: ring, halo; on 2 machines)', of (machine, pattern)."""
    patterns = [*dict.fromkeys(pattern for _, pattern in keys)][1:]
    machines = {machine for machine, _ in keys}
    parts = [f"the same: {', '.join(patterns)}"] if patterns else []
    parts += [f"on {len(machines)} machines"] if len(machines) > 1 else []
    return f" ({'; '.join(parts)})" if parts else ""


def weight(measured: ReportRun) -> tuple[int, int]:
    """(figures, ranks): the run with most speaks for its pattern."""
    ranks = max((len(measured.run.step(path).ranks) for path in measured.run.paths), default=0)
    return len(measured.run.entries), ranks


def of_run(run: Run) -> list[Verdict]:
    """The sentences about one run, each once, the most important first; without their full stops."""
    return [Verdict(*fromkey) for fromkey in dict.fromkeys(_sentences(run))]


def _sentences(run: Run) -> Iterator[Sentence]:
    if told := soaks.verdict(run):
        yield (NOTE if told[1] else BAD), told[0]
        for soak in soaks.soaks(run):
            if words := soaks.first_words(soak):
                yield BAD, f"first wrong message of {soak.path} at {format_size(soak.bytes)}: {words}"
    yield from _doubtful(run)
    if run.view == "sizes" and run.entries:
        yield from _aware(run)
        yield from _fastest(run)
    elif run.view == "matrix":
        yield from _pairs(run)
    elif run.entries:
        yield from _each(run)
    for words in two_speeds.notes(list(run.entries.values())):
        yield WARNING, words[0].upper() + words[1:]
    yield from _worth(run)
    yield from _failed(run)
    yield from ((NOTE, line) for line in unlimited(run))


def _doubtful(run: Run) -> Iterator[Sentence]:
    """Impossible figures, what a path declares and its wires deny, and NICs that are a bad choice."""
    yield from ((BAD, line) for line in beyond(run))
    yield from ((BAD if largest else WARNING, line) for line, largest in suspicions(run))
    yield from ((WARNING, line) for line in nics.doubts(run))
    doubts = (contended, start_skew.notes, shared_gpus.notes, health.notes, health.standing)
    yield from ((WARNING, line) for notes in doubts for line in notes(run))


def _aware(run: Run) -> Iterator[Sentence]:
    """Whether the MPI copies directly between GPUs, or stages unnoticed."""
    known = awareness(run)
    if known is None:
        return
    how = f"; {known.how}" if known.how else ""
    level = {True: GOOD, False: WARNING, None: NOTE}[known.good]
    yield (
        level,
        f"{known.mpi} takes device pointers: {_figure(known.last, run.ceiling(known.last.path))}{how}",
    )
    if staged := run.entries.get((STAGED, known.last.bytes)):
        fast, slow = sorted((known.last, staged), key=lambda entry: entry.seconds)
        times = doubts(sign(run, fast), sign(run, slow)) + figures.ratio(slow.seconds / fast.seconds)
        yield NOTE, f"At {format_size(fast.bytes)} {fast.path} is {times} times as fast as {slow.path}"


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
    sure = (entry for path in run.paths for entry in run.of_path(path) if not entry.uncertain)
    largest = {entry.path: entry for entry in sure if entry.amount}
    if largest:
        parts = [f"{path} {format_rate(entry.rate)} GB/s" for path, entry in largest.items()]
        yield NOTE, f"At the largest size: {', '.join(parts)}"


def _pairs(run: Run) -> Iterator[Sentence]:
    """The slowest pairs at each path's largest size."""
    for entry in (entry for path in run.paths for entry in run.of_path(path)[-1:]):
        if len(entry.teams) > 1:
            level = WARNING if behind(entry) >= FAR else GOOD
            yield level, f"{entry.path}, {format_size(entry.bytes)}: {describe(entry)}"


def _worth(run: Run) -> Iterator[Sentence]:
    for pair in pairs(run):
        worths = [(size, worth) for size in run.sizes if (worth := pair.worth(run, size)) and worth.certain]
        size, worth = max(worths, key=lambda row: row[1].ratio, default=(0, None))
        if worth and worth.ratio >= 1 + NEAR:
            what = pair.what if pair.what != UNKNOWN else "it"
            longer = (
                f"takes up to {worth.mark}{figures.ratio(worth.ratio)} times as long (at {format_size(size)})"
            )
            yield NOTE, f"{pair.path} without {what} ({pair.without}) {longer}"


def _failed(run: Run) -> Iterator[Sentence]:
    for head, words, style in failure_lines(run, lacking=True):
        if style != "dim":
            yield BAD if style == "red" else WARNING, f"{head}: {words}"
    took_over = [
        failure
        for failure in run.failures
        if failure.whole_path and failure.path in run.paths and other_mpi(failure)
    ]
    for words, paths in grouped((reason(failure), failure.path) for failure in took_over).items():
        yield NOTE, f"{', '.join(dict.fromkeys(paths))}: {words}"
    if run.interrupted:
        yield WARNING, "This run was ended before all was measured"


def _unsure(sets: Sequence[ReportRun]) -> Iterator[str]:
    """How many figures of the page are less precise than was asked for."""
    runs = grouped(
        (measured.run.stopping.precision, measured.run) for measured in sets if measured.run.stopping
    )
    for precision, alike in runs.items():
        entries = [entry for run in alike for entry in run.entries.values()]
        if wide := sum(map(unsettled, entries)):
            within = f"within the ±{figures.percent(precision)} asked for"
            remedy = "a longer --max-time makes them more precise"
            yield f"{wide} of {len(entries)} figures are not {within}: {remedy}"
