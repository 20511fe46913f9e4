"""The same measurement alone and beside another one: how many times longer it took."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from wirespeed.paths import all_paths
from wirespeed.report.facts.markers import AS_FAST
from wirespeed.report.terminal.size_table import add_columns, new_table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_size

TURNS = "processes take turns on a GPU, milliseconds each, unless MPS lets them share it: that is part of it"


def print_ratios(console: Console, alone: Run, crowded: Run, beside: str) -> None:
    """A row a size, a column a path: time beside the other pattern / time alone."""
    paths = [path for path in alone.paths if path in crowded.paths]
    table = new_table()
    add_columns(table, ["size", *(f"  {path}" for path in paths)])
    for size in alone.sizes:
        cells = [Text(format_size(size))]
        for path in paths:
            one, other = alone.entries.get((path, size)), crowded.entries.get((path, size))
            cells.append(Text("-", "dim") if one is None or other is None else _cell(one, other))
        table.add_row(*cells)
    console.print()
    head = f"beside {beside}: how many times longer it takes than alone"
    say(console, Text.assemble((head, "bold"), (f"; {AS_FAST} within the intervals", "dim")))
    console.print(table, crop=False, no_wrap=True)
    if _both_on_gpus(alone, beside):
        say(console, Text(TURNS, style="dim"))


def _both_on_gpus(run: Run, beside: str) -> bool:
    """Do both patterns give a GPU of this run something to do?"""
    devices = [rank.device for path in run.paths for rank in run.step(path).ranks]
    name = beside.split(":")[1] if ":" in beside else ""
    other = next((path for path in all_paths() if path.name == name), None)
    return any(devices) and other is not None and (other.needs_device or other.memory == "device")


def _cell(alone: Entry, crowded: Entry) -> Text:
    """'1.83x'; '1.64x≈' where the intervals do not tell the two apart."""
    apart = crowded.low > alone.high or crowded.high < alone.low
    text = f"{crowded.seconds / alone.seconds:.3g}x"
    return Text(f"{text} ") if apart else Text(f"{text}{AS_FAST}", "dim")
