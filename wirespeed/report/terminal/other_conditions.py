"""The same measurement under another condition: while another one is running, or across several hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from wirespeed.paths import all_paths
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts.cells import rate_cell, time_cell
from wirespeed.report.facts.contrasts import compared
from wirespeed.report.facts.markers import AS_FAST
from wirespeed.report.views.size_table import worth_cell
from wirespeed.results.runs import CONDITIONS, Run
from wirespeed.units import counted, format_size

TURNS = (
    "processes take turns on a GPU, milliseconds each, unless MPS lets them share it: the ratios include that"
)
MODES = {
    "aware": "device pointers, GPUDirect",
    "aware-nogdr": "device pointers, no GPUDirect",
    "staged": "copies before and after MPI",
    "host": "host buffers",
}
"""In the order of the table; other paths follow."""


def _last_other(runs: Sequence[Run], run: Run, condition: str, fits: Callable[[Run], bool]) -> Run | None:
    """The last of these runs that differs from this one by the condition alone."""

    def rest(run: Run) -> list[object]:
        return [value for name, value in zip(CONDITIONS, run.conditions, strict=True) if name != condition]

    return next((other for other in reversed(runs) if fits(other) and rest(other) == rest(run)), None)


def print_ratios(console: Console, runs: Sequence[Run], crowded: Run) -> None:
    """One row per size, one column per path: the time while another pattern is running / the time alone.

    `runs`: those among which to look for the same measurement alone; nothing is printed without one.
    """
    if (other := crowded.background) is None:
        return
    alone = _last_other(runs, crowded, "background", lambda run: bool(run.entries) and not run.background)
    if alone is None:
        return
    columns = [Column("size", format_size)]
    shared = [path for path in alone.paths if path in crowded.paths]
    columns += [Column(path, partial(_ratio, alone, crowded, path), gap=3) for path in shared]
    console.print()
    head = f"while {other} is running: how many times longer it takes than alone"
    say(console, Text.assemble((head, "bold"), (f"; {AS_FAST} no difference", "dim")))
    console.print(table(columns, alone.sizes), crop=False)
    if _both_on_gpus(alone, other):
        say(console, TURNS, "dim")


def _ratio(alone: Run, crowded: Run, path: str, size: int) -> Text | None:
    """'1.83x'; '1.64x≈' where the intervals do not tell the two apart; '&1.83x' of a doubtful figure."""
    before, after = alone.entries.get((path, size)), crowded.entries.get((path, size))
    return worth_cell(compared(alone, before, crowded, after)) if before and after else None


def _both_on_gpus(run: Run, other: str) -> bool:
    """Whether both patterns give a GPU of this run something to do."""
    devices = [rank.device for path in run.paths for rank in run.step(path).ranks]
    name = other.split(":")[1] if ":" in other else ""
    found = next((path for path in all_paths() if path.name == name), None)
    return any(devices) and found is not None and (found.needs_device or found.memory == "device")


def print_halves(console: Console, runs: Sequence[Run], across: Run) -> None:
    """A line for each path: the latency of each mode and its bandwidth, on one host and across several.

    `runs`: those among which to look for the same on one host; prints nothing without one.
    """
    if not across.published or _hosts(across) < 2:
        return
    within = _last_other(runs, across, "hosts", lambda run: _hosts(run) == 1)
    if within is None:
        return
    common = sorted(set.intersection(*({size for _, size in run.entries} for run in (within, across))) - {0})
    if not common:
        return
    paths = [path for path in across.paths if path in within.paths]
    order = [*(path for path in MODES if path in paths), *(path for path in paths if path not in MODES)]
    several = counted(_hosts(across), "host")
    columns: list[Column[str]] = [
        Column("path", str, left=True),
        Column("", lambda path: MODES.get(path, ""), left=True, gap=2, style="dim", drop=1),
    ]
    for run, title in ((within, "one host"), (across, several)):
        least, most = common[0], common[-1]
        columns += [
            Column(format_size(least), partial(_time, run, least), gap=3, group=title),
            Column(f"GB/s at {format_size(most)}", partial(_rate, run, most), gap=2, group=title),
        ]
    console.print()
    say(console, f"on one host and on {several}: one way of the shortest message, and bandwidth", "bold")
    console.print(table(columns, order).fit(console.width), crop=False)


def _time(run: Run, size: int, path: str) -> Text | None:
    entry = run.entries.get((path, size))
    return Text("".join(time_cell(run, entry))) if entry else None


def _rate(run: Run, size: int, path: str) -> Text | None:
    entry = run.entries.get((path, size))
    return Text("".join(rate_cell(run, entry))) if entry and entry.amount else None


def _hosts(run: Run) -> int:
    return max((len({rank.host for rank in run.step(path).ranks}) for path in run.paths), default=0)
