"""Paths without figures, a line each: what became of them, at which sizes, and what would help."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.wrapped_line import say
from wirespeed.report.facts import figures
from wirespeed.report.grouping import grouped
from wirespeed.results.runs import IMPOSSIBLE, Failure, Run
from wirespeed.units import format_size

MAX_SIZES = 3


def print_failures(console: Console, run: Run, *, explain: bool, most: int | None = None) -> None:
    """Prints what broke; what is lacking quietly, unless it was asked for by its name.

    `explain`: also under which MPI a path failed that was measured under another one. `most`: lines of each.
    """
    lines = failure_lines(run, replaced=explain)
    if lines:
        console.print()
    for head, text, style in lines:
        quiet = style == "dim"
        bold = style if quiet else f"bold {style}"
        say(console, Text.assemble((f"{head}: ", bold), (text, "dim" * quiet)), most=most)


def lasting(run: Run) -> list[Failure]:
    """Failures after which nothing was measured in their place."""
    return [
        failure
        for failure in run.failures
        if _leaves_nothing(run, failure) or not run.has(failure.path, failure.bytes or 0, failure.launch)
    ]


def failure_lines(run: Run, *, lacking: bool = False, replaced: bool = True) -> list[tuple[str, str, str]]:
    """(paths and sizes, words, style); one for each path and kind of failure, alike paths together.

    `lacking`: without what whole paths lacked that were measured all the same. `replaced`: also paths that
    failed under one MPI and were measured under another.
    """
    kinds: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in lasting(run):
        measured = failure.whole_path and failure.path in run.paths
        if not measured or not (lacking or (not replaced and bool(figures.other_mpi(failure)))):
            # Each impossible figure is named with the one that contradicts it.
            named = _leaves_nothing(run, failure) or failure.what == IMPOSSIBLE
            told = figures.failure_text(failure) if named else ""
            kinds.setdefault((failure.path, failure.what, told), []).append(failure)
    lines = grouped(
        (
            (
                figures.failure_text(alike[0]),
                _style(run, alike[0]),
                _where(run, alike, whole=_leaves_nothing(run, alike[0])),
            ),
            path,
        )
        for (path, _, _), alike in kinds.items()
    )
    return [
        (f"{', '.join(dict.fromkeys(paths))}{where}", text, style)
        for (text, style, where), paths in lines.items()
    ]


def _leaves_nothing(run: Run, failure: Failure) -> bool:
    """Whether nothing of the path was measured."""
    return failure.bytes is None or (failure.what == "unavailable" and failure.path not in run.paths)


def _where(run: Run, failures: list[Failure], *, whole: bool) -> str:
    """' at 8 B, launch 2 of 3': sizes, unless the whole path failed, and launches, unless all did."""
    sizes, several = "" if whole else _sizes(failures), run.head.plan.launches
    launches = sorted({failure.launch for failure in failures})
    if several < 2 or len(launches) == several or failures[0].what == "unavailable":
        return sizes
    return f"{sizes}, launch {', '.join(map(str, launches))} of {several}"


def _sizes(failures: list[Failure]) -> str:
    sizes = sorted({failure.bytes for failure in failures if failure.bytes is not None})
    if len(sizes) > MAX_SIZES:
        return f" at {len(sizes)} sizes, {format_size(sizes[0])} to {format_size(sizes[-1])}"
    return f" at {', '.join(map(format_size, sizes))}"


def _style(run: Run, failure: Failure) -> str:
    """What the machine merely lacks is dim; yellow where somebody asked for it, or can do something."""
    if failure.what != "unavailable":
        return "red"
    quiet = _leaves_nothing(run, failure) and not failure.remedy and failure.path not in run.head.plan.paths
    return "dim" if quiet else "yellow"
