"""Paths without figures, a line each: what became of them, at which sizes, and what would help."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from wirespeed.report.facts import figures
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Failure, Run
from wirespeed.units import format_size

MOST_SIZES = 3


def print_failures(console: Console, run: Run) -> None:
    """What is lacking is said quietly, unless it was asked for by its name; what broke is not."""
    lines = failure_lines(run)
    if lines:
        console.print()
    for head, text, style in lines:
        quiet = style == "dim"
        say(console, Text.assemble((f"{head}: ", style if quiet else f"bold {style}"), (text, "dim" * quiet)))


def failure_lines(run: Run, *, lacking: bool = False) -> list[tuple[str, str, str]]:
    """(paths and sizes, words, style); one for each path and kind of failure, alike paths together.

    `lacking`: without paths that failed under one MPI and were measured under another.
    """
    kinds: dict[tuple[str, ...], list[Failure]] = {}
    for failure in run.failures:
        if lacking and failure.whole_path and failure.path in run.paths:
            continue
        whole = concerns_all(run, failure)
        if whole or (failure.path, failure.bytes) not in run.entries:
            key = (failure.path, failure.what, figures.failure_text(failure) if whole else "")
            kinds.setdefault(key, []).append(failure)
    lines: dict[tuple[str, str, str], list[str]] = {}
    for (path, *_), failures in kinds.items():
        first = failures[0]
        sizes = "" if concerns_all(run, first) else _sizes(failures)
        lines.setdefault((figures.failure_text(first), _style(run, first), sizes), []).append(path)
    return [
        (f"{', '.join(dict.fromkeys(paths))}{sizes}", text, style)
        for (text, style, sizes), paths in lines.items()
    ]


def concerns_all(run: Run, failure: Failure) -> bool:
    """Does it leave nothing of the path to measure?"""
    if failure.bytes is None:
        return True
    return failure.what == "unavailable" and not any(path == failure.path for path, _ in run.entries)


def _sizes(failures: list[Failure]) -> str:
    sizes = sorted({failure.bytes for failure in failures if failure.bytes is not None})
    if len(sizes) > MOST_SIZES:
        return f" at {len(sizes)} sizes, {format_size(sizes[0])} to {format_size(sizes[-1])}"
    return f" at {', '.join(map(format_size, sizes))}"


def _style(run: Run, failure: Failure) -> str:
    """What the machine merely lacks is dim; yellow where somebody asked for it, or can do something."""
    if failure.what != "unavailable":
        return "red"
    quiet = concerns_all(run, failure) and not failure.remedy and failure.path not in run.head.plan.paths
    return "dim" if quiet else "yellow"
