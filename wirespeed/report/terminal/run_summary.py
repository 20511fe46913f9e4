"""A run on a terminal: what was measured, the table, what came of each path, what failed and why."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, cast

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.ascii_text import AsciiStream
from wirespeed.report.console.columns import Column, Table, table
from wirespeed.report.console.sparkline import sparkline
from wirespeed.report.console.wrapped_line import say, say_all
from wirespeed.report.facts import (
    awareness,
    figures,
    health,
    library_start,
    mixed_launches,
    nics,
    outcome,
    programs,
    shared_gpus,
    start_skew,
    trust,
)
from wirespeed.report.facts.best import by_domain
from wirespeed.report.facts.cpu_contention import marked
from wirespeed.report.facts.failures import print_failures
from wirespeed.report.facts.host_copies import host_copies
from wirespeed.report.facts.machine import placement, title
from wirespeed.report.facts.markers import AS_FAST
from wirespeed.report.facts.pointers import memory_lines
from wirespeed.report.facts.shares import unlimited
from wirespeed.report.facts.shown_sizes import shown_sizes
from wirespeed.report.facts.slowest_teams import print_slowest
from wirespeed.report.facts.transport_choices import choices
from wirespeed.report.facts.wire_verdicts import beyond, misnamed, print_suspicions, print_wires
from wirespeed.report.terminal import copy_table, program_table
from wirespeed.report.terminal.fan_table import print_fans
from wirespeed.report.terminal.legend import brief, legend
from wirespeed.report.terminal.pair_matrix import print_matrices
from wirespeed.report.terminal.size_table import TableLayout, lay_out
from wirespeed.report.terminal.soak_table import print_soaks
from wirespeed.results.runs import Run

FEWEST = 3
"""Sizes, below which a curve shows nothing."""
SCREEN = 45
"""Lines of a run, if no detail was asked for."""


@dataclass(frozen=True)
class Detail:
    """The amount of a run that is printed."""

    explain: bool = False
    """Also legends, equations and choices."""
    sizes: Callable[[Run], list[int]] = shown_sizes
    notes: int | None = None
    """Lines of each note."""
    paths: bool = True
    """A line for each path, else for each kind of wires."""


FEWER = (
    Detail(),
    Detail(notes=1),
    Detail(notes=1, paths=False),
    *(Detail(sizes=partial(shown_sizes, apart=apart), notes=1, paths=False) for apart in (16, 64)),
    *(
        Detail(sizes=partial(shown_sizes, apart=apart, changes=False), notes=1, paths=False)
        for apart in (64, 256)
    ),
)
"""The first that fits a screen is printed, else the last."""


def print_run(console: Console, run: Run, *, explain: bool = False, all_sizes: bool = False) -> None:
    """One run: title, table, outcome, failures, on SCREEN lines where it is a table of sizes.

    `explain`: also legends, equations and choices. `all_sizes`: a row for each size, also of a long sweep.
    """
    if explain or all_sizes or run.view != "sizes":
        sizes = all_sizes_of if all_sizes else shown_sizes
        _print(console, run, Detail(explain=explain, sizes=sizes))
    else:
        _print(console, run, next((d for d in FEWER if _lines(console, run, d) <= SCREEN), FEWER[-1]))


def all_sizes_of(run: Run) -> list[int]:
    """Every size."""
    return run.sizes


def _lines(console: Console, run: Run, detail: Detail) -> int:
    """Lines that it takes on a console of this width."""
    # Signs that are printed as several letters of ASCII take the room of those.
    text = AsciiStream(io.StringIO()) if console.options.ascii_only else io.StringIO()
    trial = Console(
        file=cast("IO[str]", text),
        width=console.width,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    _print(trial, run, detail)
    return text.getvalue().count("\n")


def _print(console: Console, run: Run, detail: Detail) -> None:
    console.print(Text(title(run), style="bold"))
    for line in [*placement(run), *memory_lines(run)]:
        say(console, line, "dim")
    console.print()
    if run.figures:
        _print_figures(console, run, detail)
    if run.soaks:
        print_soaks(console, run)
    print_failures(console, run, explain=detail.explain, most=detail.notes)
    if run.interrupted:
        console.print(Text("This run was ended before all was measured.", style="yellow"))


def _print_figures(console: Console, run: Run, detail: Detail) -> None:
    copies = run.view == "copies" and any(len(entry.teams) > 1 for entry in run.figures.values())
    program = run.view == "program"
    sizes, note = detail.sizes(run), partial(say, console, most=detail.notes)
    if program:
        layout = TableLayout([program_table.build(run).fit(console.width)], spread=True)
    else:
        layout = (
            TableLayout([copy_table.build(run)], compact=True)
            if copies
            else lay_out(console.width, run, sizes)
        )
    for part in layout.tables:
        console.print(part, crop=False)
        console.print()
    _print_answer(console, run)
    doubts = (
        marked,
        mixed_launches.notes,
        start_skew.notes,
        shared_gpus.notes,
        health.notes,
        health.standing,
    )
    for line in (line for notes in doubts for line in notes(run)):
        note(line, "yellow")
    _print_outcome(console, run, detail)
    for line in nics.lines(run):
        note(line)
    _print_doubts(console, run, detail)
    if run.view == "matrix":
        print_matrices(console, run)
        print_fans(console, run)
    if program:
        _print_program(console, run)
    if not copies:
        print_slowest(console, run)
    if run.pattern and run.pattern.counts_copies and (counted := host_copies(run)):
        words = ("copies between GPU and host in an iteration, of the rank with most: ", "bold")
        note(Text.assemble(words, counted))
    if not detail.explain:
        fewer = f"{len(sizes)} of {len(run.sizes)} sizes (--all-sizes)" if len(sizes) < len(run.sizes) else ""
        lines = brief(run, layout, fewer)
        for line in lines[:-1]:
            note(line, "dim")
        # What shows the rest is never left out.
        for line in lines[-1:]:
            say(console, line, "dim")
        return
    console.print()
    if took := library_start.note(run):
        say(console, took, "dim")
    say_all(console, unlimited(run), "dim")
    for line in [*legend(run, layout), *([copy_table.LEGEND] if copies else [])]:
        say(console, line, "dim")
    say_all(console, [f"{paths}: {text}" for paths, text in choices(run)], "dim")
    say_all(console, health.corrected(run), "dim")
    print_wires(console, run)


def _print_answer(console: Console, run: Run) -> None:
    """The best figures, and whether all of them can be relied on."""
    if best := trust.headline(run):
        say(console, Text.assemble(("best: ", "bold"), best))
    if run.entries:
        good, words = trust.trust(run)
        say(console, Text.assemble(("trust: ", "bold"), (words, "green" if good else "yellow")))


def _print_program(console: Console, run: Run) -> None:
    """What GPUDirect is worth to it, whether its physics is right, and what its columns mean."""
    if worth := programs.gpudirect(run):
        say(console, Text.assemble(("GPUDirect: ", "bold"), worth))
    if constant := programs.constant(run):
        say(console, Text.assemble(("physics: ", "bold"), constant))
    say(console, program_table.LEGEND, "dim")


def _print_outcome(console: Console, run: Run, detail: Detail) -> None:
    """Each path's best figure, its share of the limit, and its wires."""
    note = partial(say, console, most=detail.notes)
    sizes = [size for size in run.sizes if size]
    rates = [entry.rate for entry in run.entries.values() if entry.bytes]

    def curve(path: str) -> str:
        entries = {entry.bytes: entry.rate for entry in run.of_path(path)}
        return sparkline([entries.get(size) for size in sizes], min(rates), max(rates))

    paths = [path for path in run.paths if outcome.best(run, path)]
    if len(paths) == 1:
        say(console, Text.assemble((paths[0], "bold"), f": {_outcome(run, paths[0])}"))
        return
    columns: list[Column[str]] = [
        Column("", lambda path: Text(path, "bold"), left=True),
        Column("best", partial(outcome.best_words, run), gap=2, left=True),
        Column("of limit", partial(outcome.share_words, run), gap=2, left=True),
        Column("wires", partial(outcome.wires_words, run), gap=2, left=True),
    ]
    columns = [columns[0], *(column for column in columns[1:] if any(map(column.cell, paths)))]
    if len(sizes) >= FEWEST:
        columns.insert(1, Column("GB/s by size, log", curve, style="cyan", gap=2, left=True, drop=1))
    if paths and not detail.paths:
        for wires, words in outcome.by_wires(run):
            note(Text.assemble((f"{wires}: " if wires else "", "bold"), words))
    elif paths:
        _print_outcomes(console, run, table(columns, paths, ruled=False).fit(console.width), paths)
    for domain, spans in by_domain(run):
        names = [f" {AS_FAST} ".join([span.path, *span.equals]) for span in spans]
        parts = [f"{name} for {span.words}" for name, span in zip(names, spans, strict=True)]
        note(Text.assemble((f"fastest for {domain} data: ", "bold"), "; ".join(parts)))
    if words := awareness.answer(run):
        refused = awareness.refusal(run)
        if refused and figures.other_mpi(refused):
            words += f"; {awareness.reason(refused).split(', so ')[0]}"
        note(Text.assemble(("GPU-aware MPI: ", "bold"), words))


def _print_outcomes(console: Console, run: Run, outcomes: Table[str], paths: list[str]) -> None:
    """As a table; as a line for each path where the terminal is too narrow for it."""
    if outcomes.width <= console.width:
        console.print(outcomes, crop=False)
        return
    for path in paths:
        say(console, Text.assemble((path, "bold"), f": {_outcome(run, path)}"))


def _outcome(run: Run, path: str) -> str:
    """'393 GB/s at 1 GiB; 87 % of limit; direct over NVLink'."""
    each = outcome.best_words, partial(outcome.share_words, name="limit"), outcome.wires_words
    return "; ".join(filter(None, (words(run, path) for words in each)))


def _print_doubts(console: Console, run: Run, detail: Detail) -> None:
    """What the wires deny, what no limit allows or applies to, and what was compared."""
    note = partial(say, console, most=detail.notes)
    print_suspicions(console, run, detail.notes)
    for line in nics.doubts(run):
        note(line, "yellow")
    for line in [*misnamed(run), *beyond(run)]:
        note(line, "bold red")
    if checked := outcome.payload(run):
        words, right = checked
        note(words, "dim" if right else "bold red")
