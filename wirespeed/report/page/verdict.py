"""The verdict in plain words: what is good, what is slow, what broke, each with its figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.limits import Ceiling
from wirespeed.limits.ceilings import impossible
from wirespeed.report.facts import figures
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.machine import mpi_title
from wirespeed.report.facts.markers import marked
from wirespeed.report.facts.speedup import pairs
from wirespeed.report.facts.wire_verdicts import beyond, suspicions
from wirespeed.report.page.best import Span, spans
from wirespeed.report.page.curves import share
from wirespeed.report.page.findings import findings
from wirespeed.report.page.sources import Measured, Source, host_of
from wirespeed.report.terminal.slowest_teams import FAR, describe
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import middle
from wirespeed.units import format_rate, format_seconds, format_size

GOOD, NOTE, WARNING, BAD = "good", "note", "warning", "bad"
AWARE = "aware"
STAGED = "staged"
STRAIGHT = ("direct", "network", "loopback", "inside", "pcie")
"""Verdicts that an MPI given device pointers need not be ashamed of."""


@dataclass(frozen=True)
class Verdict:
    """A sentence, and how it is meant: good, note, warning or bad."""

    level: str
    text: str


def verdicts(sets: Sequence[Measured], sources: Sequence[Source]) -> list[tuple[str, list[Verdict]]]:
    """(heading, sentences): for each host and pattern those of the run with most figures."""
    heads: dict[tuple[str, str], Measured] = {}
    for one in sorted(sets, key=lambda one: (-len(one.run.entries), -_ranks(one.run))):
        heads.setdefault((host_of(one.run), one.pattern), one)
    groups = [
        (f"{one.pattern} on {host_of(one.run)} ({one.label})", [*of_run(one.run)]) for one in heads.values()
    ]
    found = [one for one in findings(sources) if one.remedy]
    if found:
        things = f"{len(found)} thing{'s' if len(found) > 1 else ''} to change"
        groups.append(("doctor", [Verdict(WARNING, f"The doctor found {things}: see Findings.")]))
    return [(text(title), sentences) for title, sentences in groups if sentences]


def _ranks(run: Run) -> int:
    return max((len(run.step(path).ranks) for path in run.paths), default=0)


def of_run(run: Run) -> Iterator[Verdict]:
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


def _doubtful(run: Run) -> Iterator[Verdict]:
    """What cannot be, and what a path promised and its wires deny."""
    for line in beyond(run):
        yield Verdict(BAD, text(f"{line}."))
    for line, largest in suspicions(run):
        yield Verdict(BAD if largest else WARNING, text(f"{line}."))


def _aware(run: Run) -> Iterator[Verdict]:
    """Is the MPI really GPU-aware, or does it stage without telling?"""
    entries = [entry for entry in run.of_path(AWARE) if entry.amount]
    if not entries:
        return
    last = entries[-1]
    mpi = run.step(AWARE).mpi
    name = text(mpi_title(mpi)) if mpi else "MPI"
    limit = run.ceiling(AWARE)
    sentence = f"{name} takes device pointers: {_figure(last, limit)}"
    level = GOOD
    seen = run.evidence.get((AWARE, last.bytes))
    through = run.ceiling_through_host(AWARE)
    if impossible(share(last, limit) or 0):
        level = NOTE
    elif seen is not None and seen.verdict != "unknown":
        sentence += f"; {seen.text}"
        level = GOOD if seen.verdict in STRAIGHT else WARNING
    elif through and last.rate > through.rate:
        sentence += (
            f". No way through host memory carries more than {format_rate(through.rate)} GB/s: "
            "the bytes went straight"
        )
    elif through:
        sentence += (
            f". A way through host memory could carry as much ({format_rate(through.rate)} GB/s): it may be "
            "staging without telling"
        )
        level = WARNING
    yield Verdict(level, f"{sentence}.")
    staged = run.entries.get((STAGED, last.bytes))
    if staged:
        times = figures.ratio(staged.seconds / last.seconds)
        yield Verdict(NOTE, f"At {format_size(last.bytes)} aware is {times} times as fast as staged.")


def _figure(entry: Entry, limit: Ceiling | None) -> str:
    """'394 GB/s at 1 GiB, 88 % of the limit'."""
    part = share(entry, limit)
    figure = f"{format_rate(entry.rate)} GB/s at {format_size(entry.bytes)}"
    return figure if part is None else f"{figure}, {100 * part:.0f} % of the limit"


def _fastest(run: Run) -> Iterator[Verdict]:
    """Which path to use where."""
    for domain in run.competing:
        found = spans(run, domain)
        if found:
            parts = [_use(run, span, number == len(found) - 1) for number, span in enumerate(found)]
            yield Verdict(NOTE, f"Fastest for {domain} data: {'; '.join(parts)}.")
    for path in run.paths:
        entries = [entry for entry in run.of_path(path) if entry.amount]
        if entries and entries[0].memory_domain not in run.competing and path != AWARE:
            first, last = entries[0], entries[-1]
            low = f"{format_seconds(first.seconds)} at {format_size(first.bytes)}"
            yield Verdict(NOTE, f"{path}: {low}, {_figure(last, run.ceiling(path))}.")


def _use(run: Run, span: Span, last: bool) -> str:
    first = format_seconds(span.first.seconds)
    sizes = format_size(span.first.bytes)
    if span.first is not span.last:
        sizes += f" to {format_size(span.last.bytes)}"
    figure = f"{first} at {format_size(span.first.bytes)}"
    if last and span.last.amount:
        figure = _figure(span.last, run.ceiling(span.path))
    return f"{span.path} for {sizes} ({figure})"


def _each(run: Run) -> Iterator[Verdict]:
    """Every path at its largest size, where paths are no rivals."""
    parts = [
        f"{path} {format_rate(entries[-1].rate)} GB/s"
        for path in run.paths
        if (entries := [entry for entry in run.of_path(path) if entry.amount])
    ]
    if parts:
        yield Verdict(NOTE, f"At the largest size: {', '.join(parts)}.")


def _pairs(run: Run) -> Iterator[Verdict]:
    for path in run.paths:
        entry = run.of_path(path)[-1]
        if len(entry.teams) > 1:
            usual = middle(sorted(team.seconds for team in entry.teams))
            far = max(team.seconds for team in entry.teams) / usual - 1 >= FAR
            level = WARNING if far else GOOD
            yield Verdict(level, f"{path}, {format_size(entry.bytes)}: {describe(entry)}.")


def _worth(run: Run) -> Iterator[Verdict]:
    for pair in pairs(run):
        found = [(size, worth) for size in run.sizes if (worth := pair.worth(run, size)) and worth.certain]
        if found:
            size, worth = max(found, key=lambda one: one[1].ratio)
            what = pair.what if pair.what != "gain" else "it"
            yield Verdict(
                NOTE,
                f"{pair.path} without {what} ({pair.without}) takes up to {figures.ratio(worth.ratio)} times "
                f"as long (at {format_size(size)}).",
            )


def _failed(run: Run) -> Iterator[Verdict]:
    lacking = failure_lines(run, lacking=True)
    for line in failure_lines(run):
        head, words_, style = line
        if style != "dim":
            level = NOTE if line not in lacking else BAD if style == "red" else WARNING
            yield Verdict(level, text(f"{head}: {words_}."))
    if run.interrupted:
        yield Verdict(WARNING, "This run was ended before all was measured.")


def _unsure(run: Run) -> Iterator[Verdict]:
    wide = [entry for entry in run.entries.values() if marked(entry)]
    if wide and run.stopping:
        count, wanted = f"{len(wide)} of {len(run.entries)} figures", run.stopping.precision
        yield Verdict(
            NOTE,
            f"{count} are not within the ±{figures.percent(wanted)} asked for: more --max-time makes them "
            "surer.",
        )
