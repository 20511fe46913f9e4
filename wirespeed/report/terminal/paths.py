"""The list of paths: what each one is, and what it lacks on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.grouping import grouped, together
from wirespeed.paths import TransferPath
from wirespeed.report.console.console import say


@dataclass(frozen=True)
class PathState:
    """A path, and why it cannot be measured here (None: it can)."""

    path: TransferPath
    lacks: str | None


GROUPS = (
    "Between host buffers",
    "GPU to GPU, through host memory",
    "GPU to GPU, by libraries",
    "GPU to GPU, by wirespeed's own copies and kernels",
    "Between a host buffer and a GPU's",
    "Inside one rank (wirespeed copy)",
    "A program's computation, on one rank (wirespeed jacobi, lbm)",
)
NOT_ON_HARDWARE = (
    "AMD GPUs: tested with a stand-in for their driver, and compiled for gfx90a, gfx942 and gfx950; not yet "
    "run on one",
    "Intel GPUs: by --device openmp; by Level Zero planned (docs/devices.md)",
)


def group(path: TransferPath) -> str:
    """(Place of the data, who moves them)."""
    if path.work_alone:
        return GROUPS[6]
    if path.intra_rank:
        return GROUPS[5]
    on_host = [memory in ("pageable", "pinned") for memory in (path.memory, path.into or path.memory)]
    if all(on_host):
        return GROUPS[0]
    if any(on_host):
        return GROUPS[4]
    if path.traits.through_host:
        return GROUPS[1]
    return GROUPS[3] if path.traits.moved_by == "wirespeed" else GROUPS[2]


def _line(row: PathState, width: int) -> Text:
    path = row.path
    state = ("available", "green") if row.lacks is None else ("not available", "yellow")
    blanks = " " * (15 - len(state[0]))
    line = Text.assemble((f"{path.name:<{width}}  ", "bold"), state, blanks, path.summary)
    if path.switch.without:
        settings = " ".join(f"{name}={value}" for name, value in path.switch.variables.items())
        line.append(f"; {path.switch.without} with {settings}", "dim")
    if path.traits.variants:
        line.append(f"; also as {', '.join(f':{name}' for name in path.traits.variants)}", "dim")
    return line if path.default or path.intra_rank else line.append("; only when named", "dim")


def print_paths(console: Console, rows: Iterable[PathState]) -> None:
    """A line for each path, alike ones together; what those lack that are not available; what is planned."""
    rows = sorted(rows, key=lambda row: GROUPS.index(group(row.path)))
    width = max(len(row.path.name) for row in rows)
    for number, (title, alike) in enumerate(grouped((group(row.path), row) for row in rows).items()):
        console.print(Text(f"\n{title}" if number else title, style="dim"))
        for row in alike:
            say(console, _line(row, width), indent=width + 17)
    for names, why in together((row.lacks, row.path.name) for row in rows if row.lacks is not None):
        console.print()
        say(console, Text.assemble((f"{names}: ", "bold yellow"), why))
    console.print()
    for line in NOT_ON_HARDWARE:
        say(console, line, "dim")
