"""Prints an explanation, in forty lines at most unless all is wanted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from rich.console import Console

from wirespeed.foreign.explain import Explanation
from wirespeed.report.console.console import say
from wirespeed.report.foreign.lines import FEWEST_ROWS, MOST_LINES, about, ending, figures

_INDENT = 5


def print_explanation(console: Console, explanation: Explanation, *, everything: bool = False) -> None:
    """Tables get the rows that the rest leaves."""
    head, tail = list(about(explanation.log)), list(ending(explanation))
    rows = 1000
    if not everything:
        without = _height(console, [*head, *figures(explanation.curves, 1), *tail])
        rows = 1 + (MOST_LINES - without) // max(1, len(explanation.curves))
        rows = rows if rows >= FEWEST_ROWS else 0
    lines = [*head, *figures(explanation.curves, rows), *tail]
    left = 10**9 if everything else MOST_LINES
    for place, line in enumerate(lines):
        height = _height(console, [line])
        if height + (place < len(lines) - 1) > left:
            say(console, f"... {len(lines) - place} more lines: --all")
            return
        say(console, line, indent=_INDENT)
        left -= height


def _height(console: Console, lines: Iterable[str]) -> int:
    width = max(20, console.width - _INDENT)
    return sum(max(1, len(textwrap.wrap(line, width))) for line in lines)
