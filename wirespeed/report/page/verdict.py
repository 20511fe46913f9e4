"""The verdict in plain words: what is good, what is slow, what broke, each with its figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wirespeed.limits import Ceiling
from wirespeed.report.facts import figures, health, nics, shared_gpus
from wirespeed.report.facts.awareness import AWARE, STAGED, awareness, reason
from wirespeed.report.facts.best import Span, by_domain
from wirespeed.report.facts.cpu_contention import contended
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.figures import other_mpi
from wirespeed.report.facts.markers import unsettled
from wirespeed.report.facts.shares import share, unlimited
from wirespeed.report.facts.speedup import UNKNOWN, pairs
from wirespeed.report.facts.wire_verdicts import beyond, suspicions
from wirespeed.report.grouping import grouped
from wirespeed.report.page.machines import machines
from wirespeed.report.page.sources import Measured
from wirespeed.report.terminal.slowest_teams import FAR, NEAR, behind, describe
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
    """What is to be said of one pattern on one machine."""

    pattern: str
    title: str
    sentences: list[Verdict]


def verdicts(sets: Sequence[Measured]) -> list[Notes]:
    """For each machine and pattern the sentences about its run with most figures.

    A sentence that holds for several patterns stands at the first one, which names the others.
    """
    names = {one.number: machine.name for machine in machines(sets) for one in machine.sets}
    heads: dict[tuple[str, str], Measured] = {}
    for one in sorted(sets, key=weight, reverse=True):
        heads.setdefault((names[one.number], one.pattern), one)
    said = {number: of_run(one.run) for number, one in enumerate(heads.values())}
    places = grouped((sentence, number) for number, sentences in said.items() for sentence in sentences)
    keys = [*heads]
    notes = []
    for number, one in enumerate(heads.values()):
        sentences = [
            Verdict(level, text(f"{words}{_also([keys[place] for place in found])}.", 1000))
            for level, words in said[number]
            if (found := places[Verdict(level, words)])[0] == number
        ]
        if not number:
            sentences += [Verdict(NOTE, text(f"{words}.")) for words in _unsure(sets)]
        title = text(f"{one.pattern} on {names[one.number]}")
        notes.append(Notes(one.pattern, title if one.label in title else f"{title}: {one.label}", sentences))
    return [one for one in notes if one.sentences]


def _also(keys: Sequence[tuple[str, str]]) -> str:
    """' (the same: ring, halo; on 2 machines)', of (machine, pattern)."""
    patterns = [*dict.fromkeys(pattern for _, pattern in keys)][1:]
    machines = {machine for machine, _ in keys}
    parts = [f"the same: {', '.join(patterns)}"] if patterns else []
    parts += [f"on {len(machines)} machines"] if len(machines) > 1 else []
    return f" ({'; '.join(parts)})" if parts else ""


def weight(one: Measured) -> tuple[int, int]:
    """(figures, ranks): the run with most speaks for its pattern."""
    ranks = max((len(one.run.step(path).ranks) for path in one.run.paths), default=0)
    return len(one.run.entries), ranks


def of_run(run: Run) -> list[Verdict]:
    """The sentences about one run, each once, the most important first; without their full stops."""
    return [Verdict(*one) for one in dict.fromkeys(_sentences(run))]


def _sentences(run: Run) -> Iterator[Sentence]:
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
    yield from ((NOTE, line) for line in unlimited(run))


def _doubtful(run: Run) -> Iterator[Sentence]:
    """Impossible figures, what a path declares and its wires deny, and NICs that are a bad choice."""
    yield from ((BAD, line) for line in beyond(run))
    yield from ((BAD if largest else WARNING, line) for line, largest in suspicions(run))
    yield from ((WARNING, line) for line in nics.doubts(run))
    lines = [*contended(run), *shared_gpus.notes(run), *health.notes(run), *health.standing(run)]
    yield from ((WARNING, line) for line in lines)


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
        times = figures.ratio(slow.seconds / fast.seconds)
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
    for head, words, style in failure_lines(run, lacking=True):
        if style != "dim":
            yield BAD if style == "red" else WARNING, f"{head}: {words}"
    took_over = [one for one in run.failures if one.whole_path and one.path in run.paths and other_mpi(one)]
    for words, paths in grouped((reason(one), one.path) for one in took_over).items():
        yield NOTE, f"{', '.join(dict.fromkeys(paths))}: {words}"
    if run.interrupted:
        yield WARNING, "This run was ended before all was measured"


def _unsure(sets: Sequence[Measured]) -> Iterator[str]:
    """How many figures of the page are less precise than was asked for."""
    runs = grouped((one.run.stopping.precision, one.run) for one in sets if one.run.stopping)
    for precision, alike in runs.items():
        entries = [entry for run in alike for entry in run.entries.values()]
        if wide := sum(map(unsettled, entries)):
            within = f"within the ±{figures.percent(precision)} asked for"
            remedy = "a longer --max-time makes them more precise"
            yield f"{wide} of {len(entries)} figures are not {within}: {remedy}"
