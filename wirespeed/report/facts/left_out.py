"""What the bound of a command (--within) left no time for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.report.grouping import size_ranges, together
from wirespeed.results.model import LeftOut
from wirespeed.results.runs import Run
from wirespeed.units import time_word


def line(run: Run) -> str | None:
    """'Left out for --within 10s: host 256 MiB to 1 GiB; the count of bytes of staged'; None: nothing was."""
    parts = [f"{paths} {words}" if words else f"all of {paths}" for paths, words in together(_each(run))]
    if not parts:
        return None
    advice = (
        "" if run.figures or run.soaks else "; there is no figure: write a longer time, or 0 for no bound"
    )
    return f"Left out for {_bound(run)}: {'; '.join(parts)}{advice}"


def of(run: Run, path: str, size: int | None) -> str | None:
    """Why there is no figure of this path and size; None: it was not left out."""
    found = any(part.path == path and size in part.sizes for part in _left_out(run))
    return f"left out for {_bound(run)}, which was over" if found else None


def _bound(run: Run) -> str:
    return f"--within {time_word(run.head.plan.budget)}"


def _left_out(run: Run) -> Sequence[LeftOut]:
    return run.end.left_out if run.end else ()


def _each(run: Run) -> Iterator[tuple[str, str]]:
    """(words, path), alike words together."""
    several = run.head.plan.launches > 1
    for part in _left_out(run):
        launch = f", launch {part.launch}" if several else ""
        if not part.sizes:
            yield "without the count of its bytes", part.path
        elif part.path in run.paths or several:
            yield f"at {size_ranges(part.sizes, run.head.plan.sizes)}{launch}", part.path
        else:
            yield "", part.path
