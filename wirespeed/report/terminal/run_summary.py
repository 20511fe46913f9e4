"""A run on a terminal: what was measured, the table, what came of each path, what failed and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from rich.console import Console
from rich.text import Text

from wirespeed.grouping import grouped
from wirespeed.report.console.columns import Column, Table, filled, table
from wirespeed.report.console.console import Trial, say, sparkline
from wirespeed.report.facts import outcome, soaks
from wirespeed.report.facts.legend import brief
from wirespeed.report.facts.machine import memory_lines, placement, title
from wirespeed.report.facts.outcome import by_domain
from wirespeed.report.facts.statement import BAD, GOOD, NOTE, WARNING, ReportSection, Statement
from wirespeed.report.facts.statements import statements
from wirespeed.report.views import view_of
from wirespeed.report.views.pairs import print_pairs
from wirespeed.report.views.size_table import TableLayout, View
from wirespeed.results.runs import Run, remembered
from wirespeed.results.soak import Soak
from wirespeed.units import format_size

FEWEST = 3
"""Sizes, below which a curve shows nothing."""
SCREEN = 45
"""Lines of a run, if no detail was asked for."""
MAX_ROWS = 16
"""Up to this many sizes are all shown."""


@dataclass(frozen=True)
class Detail:
    """The amount of a run that is printed."""

    notes: int | None = None
    """Lines of each note on a terminal; neither warnings nor what a program reads is ever cut."""
    paths: bool = True
    """A line for each path, else for each kind of wires."""
    apart: int = 4
    """Of a sweep of powers of two, powers of this number and both ends are shown; 0: all sizes are."""
    changes: bool = True
    """Also each size from which on another path is the fastest, or at which one fails."""
    explain: bool = False
    """Also legends, equations and choices."""

    def sizes(self, run: Run) -> list[int]:
        """Of short sweeps all, unless they are to be thinned further."""
        sizes = run.sizes
        everything = not self.apart or (self.apart == 4 and len(sizes) <= MAX_ROWS)
        if everything or not sizes or any(size & (size - 1) for size in sizes):
            return sizes
        always = {sizes[0], sizes[-1]}
        if self.changes:
            always |= {span.first.bytes for _, spans in by_domain(run) for span in spans}
            always |= {failure.bytes for failure in run.failures if failure.bytes is not None}
        step = self.apart.bit_length() - 1
        return [size for size in sizes if size in always or size.bit_length() % step == 1]


FEWER = (
    Detail(),
    Detail(1),
    *(Detail(1, paths=False, apart=apart) for apart in (4, 16, 64)),
    *(Detail(1, paths=False, apart=apart, changes=False) for apart in (64, 256)),
)
"""The first that fits a screen is printed, else the last."""


def print_run(console: Console, run: Run, *, explain: bool = False, all_sizes: bool = False) -> None:
    """One run: title, table, outcome, failures, on SCREEN lines where it is a table of sizes.

    `explain`: also legends, equations and choices. `all_sizes`: a row for each size, also of a long sweep.
    """
    if explain or all_sizes or not run.traits.shown.by_size:
        _print(console, run, Detail(apart=0 if all_sizes else 4, explain=explain))
        return
    for detail in FEWER:
        trial = Trial(console.width, ascii_only=console.options.ascii_only)
        _print(trial, run, detail if console.is_terminal else replace(detail, notes=None))
        if trial.lines <= SCREEN:
            break
    trial.replay(console)


def _print(console: Console, run: Run, detail: Detail) -> None:
    console.print(Text(title(run), style="bold"))
    for line in [*placement(run), *memory_lines(run)]:
        say(console, line, "dim")
    layout = TableLayout([])
    if run.figures or run.soaks:
        console.print()
    if run.figures:
        layout = _layout(run, console.width, tuple(detail.sizes(run)))
        for shown in layout.tables:
            console.print(shown, crop=False)
            console.print()
    said = grouped((statement.part, statement) for statement in statements(run, layout))
    for part in ReportSection:
        lines = said.get(part, [])
        if part is ReportSection.PATHS and layout.by_path:
            continue
        if part is ReportSection.PATHS:
            _print_paths(console, run, lines, detail)
        elif part is ReportSection.METHOD and not detail.explain:
            _print_brief(console, run, layout, detail)
        elif detail.explain or part not in (
            ReportSection.WORTH,
            ReportSection.COUNTERS,
            ReportSection.REPLACED,
        ):
            _print_part(console, run, part, lines, detail)


@remembered
def _layout(run: Run, width: int, sizes: tuple[int, ...]) -> TableLayout:
    return view_of(run).layout(width, run, sizes)


def _print_part(
    console: Console, run: Run, part: ReportSection, lines: Sequence[Statement], detail: Detail
) -> None:
    """A part's statements, with what is drawn before or after them."""
    if part is ReportSection.PROGRAM:
        print_pairs(console, run)
    if part is ReportSection.SOAK and run.soaks:
        console.print(_soak_table(run).fit(console.width), crop=False)
    if part in _APART and lines:
        console.print()
    if part is ReportSection.COUNTERS and lines:
        say(console, "which wires the bytes travelled over, by their counters:", "dim")
    whole = part in (ReportSection.ANSWER, ReportSection.TEAMS)
    for statement in lines:
        most = None if whole or statement.level in (WARNING, BAD) else detail.notes
        say(console, _line(statement), most=most)
    view = view_of(run) if run.figures else View()
    captions = {ReportSection.PROGRAM: view.caption, ReportSection.METHOD: view.legend}
    if run.soaks:
        captions[ReportSection.SOAK] = _SOAK_LEGEND
    if words := captions.get(part):
        say(console, words, "dim")


_APART = (
    ReportSection.TEAMS,
    ReportSection.METHOD,
    ReportSection.COUNTERS,
    ReportSection.SOAK,
    ReportSection.FAILURES,
)
"""Parts with a blank line before them."""
_STYLES = {GOOD: "dim", NOTE: "", WARNING: "yellow", BAD: "bold red"}


def _line(statement: Statement) -> Text:
    """The subject in bold, what is quiet dim, the rest as its level wants it."""
    part, level, subject, text = statement
    style = _STYLES[level]
    if part is ReportSection.END:
        return Text(f"{text}.", style)
    if part is ReportSection.FAILURES:
        quiet = "dim" if level == NOTE else ""
        return Text.assemble((f"{subject}: ", quiet or f"bold {style}"), (text, quiet))
    if part in (ReportSection.TEAMS, ReportSection.METHOD, ReportSection.REPLACED):
        return Text(statement.words, style or "dim")
    if part is ReportSection.COUNTERS:
        return Text(f"  {statement.words}")
    if not subject or level == BAD:
        return Text(statement.words, style)
    return Text.assemble((f"{subject}: ", "bold"), (text, "green" if level == GOOD else style))


def _print_brief(console: Console, run: Run, layout: TableLayout, detail: Detail) -> None:
    """The legend in as few lines as will do; what shows the rest is never left out."""
    sizes = len(detail.sizes(run))
    fewer = f"{sizes} of {len(run.sizes)} sizes (--all-sizes)" if sizes < len(run.sizes) else ""
    lines = brief(run, layout, fewer)
    for line in lines[:-1]:
        say(console, line, "dim", most=detail.notes)
    for line in lines[-1:]:
        say(console, line, "dim")


def _print_paths(console: Console, run: Run, said: Sequence[Statement], detail: Detail) -> None:
    """Each path's best figure, its share of the limit, and its wires: as a table where there are several.

    As a line for each path where the terminal is too narrow for it.
    """
    sizes = [size for size in run.sizes if size]
    rates = [entry.rate for entry in run.entries.values() if entry.bytes]

    def curve(path: str) -> str:
        entries = {entry.bytes: entry.rate for entry in run.of_path(path)}
        return sparkline([entries.get(size) for size in sizes], min(rates), max(rates))

    paths = [statement.subject for statement in said]
    columns: list[Column[str]] = [
        Column("", lambda path: Text(path, "bold"), left=True),
        Column("best", partial(outcome.best_words, run), gap=2, left=True),
        Column("of limit", partial(outcome.share_words, run), gap=2, left=True),
        Column("wires", partial(outcome.wires_words, run), gap=2, left=True),
    ]
    columns = filled(columns, paths)
    if len(sizes) >= FEWEST:
        columns.insert(1, Column("GB/s by size, log", curve, style="cyan", gap=2, left=True, drop=1))
    outcomes = table(columns, paths, ruled=False).fit(console.width)
    if len(paths) > 1 and not detail.paths:
        for wires, words in outcome.by_wires(run):
            text = Text.assemble((f"{wires}: " if wires else "", "bold"), words)
            say(console, text, most=detail.notes)
    elif len(paths) > 1 and outcomes.width <= console.width:
        console.print(outcomes, crop=False)
    else:
        for statement in said:
            say(console, _line(statement))


_SOAK_LEGEND = (
    "messages/s: of all ranks together; of timed: as a share of the rate of iterations that nobody checks. "
    "damaged: some bytes are wrong and stay so; late: right once the next message was there; "
    "stale: the bytes of an earlier iteration; lost: nothing arrived."
)


def _soak_table(run: Run) -> Table[Soak]:
    """A row for each path and size."""

    def wrong(soak: Soak) -> Text:
        return Text(soaks.wrong_words(soak), "bold red" if soak.wrong.total else "")

    columns: list[Column[Soak]] = [
        Column("path", lambda soak: Text(soak.path, "bold"), left=True),
        Column("size", lambda soak: format_size(soak.bytes), gap=2),
        Column("messages", lambda soak: f"{soak.messages:,}", gap=2),
        Column("wrong", wrong, gap=2, left=True),
        Column("messages/s", lambda soak: _soak_rate(soak.messages_per_s), gap=2),
        Column("of timed", _soak_share, gap=2),
    ]
    found = soaks.soaks(run)
    if any(soak.uncovered for soak in found):
        columns.append(Column("no soak of", lambda soak: Text(", ".join(soak.uncovered.values())), left=True))
    if any(soak.planted is not None for soak in found):
        columns.insert(3, Column("planted", lambda soak: f"{soak.planted or 0:,}", gap=2))
    return table(columns, found)


def _soak_rate(value: float | None) -> str | None:
    return None if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _soak_share(soak: Soak) -> str | None:
    return None if soak.rate_share is None else f"{100 * soak.rate_share:.0f} %"
