"""The list of paths: what each one is, and what it lacks on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.paths import Path
from wirespeed.report.grouping import grouped
from wirespeed.report.terminal.wrapped_line import say


@dataclass(frozen=True)
class PathState:
    """A path, and why it cannot be measured here (None: it can)."""

    path: Path
    lacks: str | None


GROUPS = (
    "Between host buffers",
    "GPU to GPU, through host memory",
    "GPU to GPU, by libraries",
    "GPU to GPU, by wirespeed's own copies and kernels",
    "Inside one rank (wirespeed copy)",
)
_OWN, _STAGED = ("gpu", "ipc"), ("pipelined", "staged")


def group(path: Path) -> str:
    """Where the data lie, and who moves them."""
    if path.within:
        return GROUPS[4]
    if path.memory in ("pageable", "pinned"):
        return GROUPS[0]
    if path.transport.startswith(_STAGED):
        return GROUPS[1]
    return GROUPS[3] if path.transport.startswith(_OWN) else GROUPS[2]


def print_paths(console: Console, rows: Iterable[PathState]) -> None:
    """A line for each path, alike ones together, then what those lack that are not available."""
    rows = sorted(rows, key=lambda row: GROUPS.index(group(row.path)))
    width = max(len(row.path.name) for row in rows)
    title = ""
    for row in rows:
        if group(row.path) != title:
            if title:
                console.print()
            title = group(row.path)
            console.print(Text(title, style="dim"))
        state = Text("available", "green") if row.lacks is None else Text("not available", "yellow")
        state.pad_right(15 - len(state))
        line = Text.assemble((f"{row.path.name:<{width}}  ", "bold"), state, row.path.summary)
        if row.path.without:
            settings = " ".join(f"{name}={value}" for name, value in row.path.variables.items())
            line.append(f"; {row.path.without} with {settings}", style="dim")
        if not row.path.default and not row.path.within:
            line.append("; only when named", style="dim")
        say(console, line, indent=width + 17)
    lacking = grouped((row.lacks, row.path.name) for row in rows if row.lacks is not None)
    for why, names in lacking.items():
        console.print()
        say(console, Text.assemble((f"{', '.join(names)}: ", "bold yellow"), why))
