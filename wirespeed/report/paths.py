"""The list of paths: what each one is, and what it lacks on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.paths import Path
from wirespeed.report.terminal import say


@dataclass(frozen=True)
class Row:
    """A path, and why it cannot be measured here (None: it can)."""

    path: Path
    lacks: str | None


def print_paths(console: Console, rows: Iterable[Row]) -> None:
    """A line for each path, then what those lack that are not available."""
    rows = list(rows)
    width = max(len(row.path.name) for row in rows)
    lacking: dict[str, list[str]] = {}
    for row in rows:
        state = Text("available", "green") if row.lacks is None else Text("not available", "yellow")
        state.pad_right(15 - len(state))
        line = Text.assemble((f"{row.path.name:<{width}}  ", "bold"), state, row.path.summary)
        if not row.path.default:
            line.append("; only when named", style="dim")
        say(console, line, indent=width + 17)
        if row.lacks is not None:
            lacking.setdefault(row.lacks, []).append(row.path.name)
    for why, names in lacking.items():
        console.print()
        say(console, Text.assemble((f"{', '.join(names)}: ", "bold yellow"), why))
