"""Prints an explanation, in forty lines at most unless all is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from wirespeed.foreign.explain import Explanation
from wirespeed.report.console.console import Trial, say
from wirespeed.report.foreign.lines import FEWEST_ROWS, MOST_LINES, about, ending, figures, findings

_INDENT = 5
_FOR_FIGURES = 8
"""Lines that the curves keep beside many findings."""

_LONG = 5000
"""Rows of all tables from which on a part of them shows nothing."""


def print_explanation(console: Console, explanation: Explanation, *, everything: bool = False) -> None:
    """Tables get the rows that the rest leaves."""
    curves, found = explanation.curves, findings(explanation)
    head, tail = list(about(explanation.log)), list(ending(explanation))
    if everything:
        lines = [*head, *figures(curves, 1000), *(line for lines in found for line in lines), *tail]
    else:
        lines = _shortened(console, explanation, head, found, tail)
    for line in lines:
        say(console, line, indent=_INDENT)


def _shortened(
    console: Console, explanation: Explanation, head: list[str], found: list[list[str]], tail: list[str]
) -> list[str]:
    curves = explanation.curves
    rest = _height(console, [*head, *(line for lines in found for line in lines), *tail])
    if len(curves) < MOST_LINES and sum(len(one.curve.points) for one in curves) < _LONG:
        left = MOST_LINES - rest - _height(console, figures(curves, 1))
        rows = 1 + left // max(1, len(curves))
        while rows >= FEWEST_ROWS:
            lines = [*head, *figures(curves, rows), *(line for lines in found for line in lines), *tail]
            if (height := _height(console, lines)) <= MOST_LINES:
                return lines
            # On a narrow screen a row takes several lines.
            rows -= max(1, (height - MOST_LINES) // (2 * len(curves)))
    # What is wrong comes before what else was measured.
    shown = [*head, *figures(curves, 0)]
    most = max(_FOR_FIGURES, MOST_LINES - rest + _height(console, head))
    shown = _cut(console, shown, most, "line")
    left = MOST_LINES - _height(console, shown)
    blocks = _cut(console, [*("\n".join(lines) for lines in found), *tail], left, "finding")
    return [*shown, *(line for block in blocks for line in block.split("\n"))]


def _cut(console: Console, blocks: Sequence[str], most: int, name: str) -> list[str]:
    """As many as fit into so many lines, one of which says how many more there are."""
    shown: list[str] = []
    for place, block in enumerate(blocks):
        height = _height(console, block.split("\n"))
        if height + (place < len(blocks) - 1) > most:
            more = len(blocks) - place
            return [*shown, f"... {more} more {name}{'s' if more > 1 else ''}: --all"]
        shown.append(block)
        most -= height
    return shown


def _height(console: Console, lines: Iterable[str]) -> int:
    height, trial = 0, Trial(width=console.width)
    for line in lines:
        if len(line) <= console.width:
            height += 1
        else:
            say(trial, line, indent=_INDENT)
    return height + trial.lines
