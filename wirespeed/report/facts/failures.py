"""Paths and sizes without figures: what became of them, what would help, what there was no time for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.grouping import size_range, size_ranges, together
from wirespeed.report.facts import figures
from wirespeed.report.facts.statement import BAD, NOTE, WARNING
from wirespeed.results.model import LeftOut
from wirespeed.results.runs import IMPOSSIBLE, Failure, Run
from wirespeed.units import format_size, time_word

MAX_SIZES = 3


def lasting(run: Run) -> list[Failure]:
    """Failures after which nothing was measured in their place."""
    return [
        failure
        for failure in run.failures
        if _leaves_nothing(run, failure) or not run.has(failure.path, failure.bytes or 0, failure.launch)
    ]


def failure_lines(run: Run, *, replaced: bool = False) -> list[tuple[str, str, str]]:
    """(paths and sizes, words, level); one for each path and kind of failure, alike paths together.

    `replaced`: paths that failed under one MPI and were measured under another, instead of all others.
    """
    kinds: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in lasting(run):
        measured = failure.whole_path and failure.path in run.paths
        if replaced == (measured and bool(figures.other_mpi(failure))):
            # Each impossible figure is named with the one that contradicts it.
            named = _leaves_nothing(run, failure) or failure.what == IMPOSSIBLE
            told = figures.failure_text(failure) if named else ""
            kinds.setdefault((failure.path, failure.what, told), []).append(failure)
    lines = []
    for (path, _, _), alike in kinds.items():
        first, differ = alike[0], len({failure.text for failure in alike}) > 1
        # The first one's words; at which size it was, where the others' differ.
        size = f" (at {format_size(first.bytes)})" if differ and first.bytes else ""
        lines.append(((figures.failure_text(first) + size, _level(run, first), _where(run, alike)), path))
    return [(f"{paths}{where}", text, level) for paths, (text, level, where) in together(lines)]


def _leaves_nothing(run: Run, failure: Failure) -> bool:
    """Whether nothing of the path was measured."""
    return failure.bytes is None or (failure.what == "unavailable" and failure.path not in run.paths)


def _where(run: Run, failures: list[Failure]) -> str:
    """' at 8 B, launch 2 of 3': sizes, unless the whole path failed, and launches, unless all did."""
    found = sorted({failure.bytes for failure in failures if failure.bytes is not None})
    many = f"{len(found)} sizes, {size_range(found)}" if len(found) > MAX_SIZES else ""
    sizes = "" if _leaves_nothing(run, failures[0]) else f" at {many or ', '.join(map(format_size, found))}"
    several, launches = run.head.plan.launches, sorted({failure.launch for failure in failures})
    if several < 2 or len(launches) == several or failures[0].what == "unavailable":
        return sizes
    return f"{sizes}, launch {', '.join(map(str, launches))} of {several}"


def _level(run: Run, failure: Failure) -> str:
    """What the machine merely lacks is a note; a warning where somebody asked for it, or can do something."""
    if failure.what != "unavailable":
        return BAD
    quiet = _leaves_nothing(run, failure) and not failure.remedy and failure.path not in run.head.plan.paths
    return NOTE if quiet else WARNING


def left_out(*runs: Run) -> str | None:
    """'Left out for --within 10s: host 256 MiB to 1 GiB; the count of bytes of staged'; None: nothing was.

    `runs`: those of one command.
    """
    short = [run for run in runs if _left_out(run)]
    if not short:
        return None
    every = (part for run in short for part in _each_left_out(run))
    parts = "; ".join(words.format(paths) for paths, words in together(every))
    measured = any(run.figures or run.soaks for run in runs)
    advice = "" if measured else "; there is no figure: write a longer time, or 0 for no bound"
    return f"Left out for {_bound(short[0])}: {parts}{advice}"


def why_left_out(run: Run, path: str, size: int | None) -> str | None:
    """Why there is no figure of this path and size; None: it was not left out."""
    found = any(part.path == path and size in part.sizes for part in _left_out(run))
    return f"left out for {_bound(run)}, which was over" if found else None


def _bound(run: Run) -> str:
    return f"--within {time_word(run.head.plan.budget)}"


def _left_out(run: Run) -> Sequence[LeftOut]:
    return run.end.left_out if run.end else ()


def _each_left_out(run: Run) -> Iterator[tuple[str, str]]:
    """(words around the path's name, path), alike words together."""
    several = run.head.plan.launches > 1
    for part in _left_out(run):
        launch = f", launch {part.launch}" if several else ""
        if not part.sizes:
            yield "the count of bytes of {}", part.path
        elif part.path in run.paths or several:
            yield f"{{}} at {size_ranges(part.sizes, run.head.plan.sizes)}{launch}", part.path
        else:
            yield "all of {}", part.path
