"""A run as text for a ticket: machine, versions, command, six sizes, verdict, on one screen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial

from wirespeed.report.console.columns import Column, table
from wirespeed.report.facts import figures
from wirespeed.report.facts.cells import rate_cell, time_cell
from wirespeed.report.facts.machine import machine_line, placement, title, versions
from wirespeed.report.facts.outcome import SHORT
from wirespeed.report.facts.statement import ReportSection
from wirespeed.report.facts.statements import statements
from wirespeed.report.facts.summary import Answer, Summary, answer
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.runs import Run
from wirespeed.units import format_size

MOST_LINES = 25
MOST_PATHS = 9
SIZES = 6


def to_ticket(runs: Sequence[Run], recorded: Sequence[RecordedFinding] = ()) -> str:
    """MOST_LINES lines at most: the run with most figures whole, of the others the verdict."""
    told = answer(runs, recorded)
    pairs = sorted(zip(runs, told.runs, strict=True), key=lambda pair: -pair[1].figures)
    if not pairs:
        return "".join(f"{line}\n" for line in _within(list(_doctor(told)), MOST_LINES))
    (run, summary), *others = pairs
    lines = [*_head(run), *_table(run), *_verdict(run, summary)]
    more = [*_findings(summary), *_doctor(told)]
    more += [f"also: {each.title}: trust: {each.trust.words if each.trust else 'none'}" for _, each in others]
    return "".join(f"{line}\n" for line in [*lines, *_within(more, MOST_LINES - len(lines))])


def _within(lines: list[str], most: int) -> list[str]:
    left = len(lines) - most
    return lines if left <= 0 else [*lines[: most - 1], f"and {left + 1} more lines: wirespeed show FILE"]


def _head(run: Run) -> Iterator[str]:
    yield title(run)
    facts = [
        ("machine", machine_line(run.head.environment)),
        ("versions", ", ".join(versions(run))),
        ("ranks", "; ".join(placement(run)[:2])),
        ("command", shlex.join(run.head.command)),
    ]
    yield from (f"{name}: {value}" for name, value in facts if value)


def _table(run: Run) -> Iterator[str]:
    """A row for each path: times of short messages, GB/s of longer ones."""
    columns = [Column("", str, left=True)]
    columns += [Column(format_size(size), partial(_cell, run, size), gap=2) for size in chosen(run.sizes)]
    if run.paths:
        yield from (line.plain for line in table(columns, run.paths[:MOST_PATHS], ruled=False).lines())
    if len(run.paths) > MOST_PATHS:
        yield f"and {', '.join(run.paths[MOST_PATHS:])}"


def chosen(sizes: Sequence[int]) -> list[int]:
    """SIZES of them: both ends, and others at equal distances."""
    sizes = [size for size in sizes if size] or [*sizes]
    if len(sizes) <= SIZES:
        return [*sizes]
    return [sizes[round(number * (len(sizes) - 1) / (SIZES - 1))] for number in range(SIZES)]


def _cell(run: Run, size: int, path: str) -> str:
    entry = run.entries.get((path, size))
    if entry is None:
        failure = run.failure(path, size)
        return figures.SHORT.get(failure.what, failure.what) if failure else "-"
    if entry.amount > SHORT and run.traits.shown.by_size:
        return f"{rate_cell(run, entry).spaced} GB/s"
    return time_cell(run, entry).spaced


def _verdict(run: Run, told: Summary) -> Iterator[str]:
    if told.marks:
        yield "; ".join(f"{mark.mark} {mark.meaning} ({mark.figures})" for mark in told.marks)
    for said in statements(run):
        if said.part is ReportSection.FASTEST or said.subject in ("best", "trust"):
            yield said.words


def _findings(told: Summary) -> Iterator[str]:
    for found in told.findings:
        # Its line is there already.
        if found.subject == "GPU-aware MPI":
            continue
        yield ": ".join(filter(None, (found.level, found.subject, found.words)))


def _doctor(told: Answer) -> Iterator[str]:
    for found in told.doctor:
        yield f"doctor: {found.title}; {found.gain or found.cost}"
