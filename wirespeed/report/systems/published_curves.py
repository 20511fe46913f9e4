"""Curves that others published, beside ours: wirespeed/systems/NAME.toml and the data file it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wirespeed import systems
from wirespeed.errors import WirespeedError
from wirespeed.report.facts import figures
from wirespeed.report.terminal.size_table import GAP, add_columns, fits, new_table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Run
from wirespeed.systems import Point
from wirespeed.systems.model import Curves
from wirespeed.units import format_rate, format_size


@dataclass(frozen=True)
class Reference:
    """A machine whose figures were published as curves."""

    name: str
    published: Curves
    curves: dict[str, dict[int, Point]]
    """Path -> size -> point, under our names of the paths."""


def known_systems(folder: Path | None = None) -> list[str]:
    """Names that `--against` takes: of systems with published curves."""
    return [name for name, system in systems.all_systems(folder).items() if system.curves]


def load_system(name: str, folder: Path | None = None) -> Reference:
    """Raises WirespeedError that lists the systems there are."""
    there = f"there are: {', '.join(known_systems(folder))}"
    if name.lower() not in systems.names(folder):
        raise WirespeedError(f"--against {name}: no curves of such a system are known; {there}")
    system = systems.load(name.lower(), folder)
    if system.curves is None:
        raise WirespeedError(f"--against {name}: no published curves of {system.name} are known; {there}")
    return Reference(system.name, system.curves, systems.load_curves(system, folder))


def print_against(console: Console, run: Run, system: Reference) -> None:
    """Our figures, theirs, and the ratio, for each path that both have."""
    console.print()
    console.print(Text(f"Beside {system.name}, as published", style="bold"))
    say(
        console,
        Text(f"{system.name}: {system.published.setting}. Source: {system.published.source}", style="dim"),
    )
    paths = [path for path in run.paths if common_sizes(run, system, path)]
    if not paths:
        have = ", ".join(system.curves)
        sizes = sorted({size for curve in system.curves.values() for size in curve})
        ends = f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
        say(console, Text(f"No path and size in common; {system.name} has {have}, {ends}."))
        return
    console.print()
    for table in _tables(console, run, system, paths):
        console.print(table, crop=False, no_wrap=True)
        console.print()
    say(
        console,
        Text(
            f"GB/s = 1e9 bytes per second; {system.name} published GiB/s (2^30), converted here; "
            f"{system.published.definition}; ratio = ours / {system.name}",
            style="dim",
        ),
    )


def common_sizes(run: Run, system: Reference, path: str) -> list[int]:
    """Sizes of the path that both measured."""
    curve = system.curves.get(path, {})
    return [entry.bytes for entry in run.of_path(path) if entry.bytes in curve]


def _tables(console: Console, run: Run, system: Reference, paths: Sequence[str]) -> list[Table]:
    whole = _build(run, system, paths, published=True)
    if fits(console, whole):
        return [whole]
    whole = _build(run, system, paths, published=False)
    if fits(console, whole):
        return [whole]
    tables = []
    for path in paths:
        table = _build(run, system, [path], published=True)
        tables.append(table if fits(console, table) else _build(run, system, [path], published=False))
    return tables


def _build(run: Run, system: Reference, paths: Sequence[str], *, published: bool) -> Table:
    table = new_table()
    heads = ["\nsize"]
    units = ("GB/s", "GiB/s") if published else ("GB/s",)
    for path in paths:
        heads += [f"{GAP}{path}\nGB/s", *(f"  {system.name}\n{unit}" for unit in units), "\n  ratio"]
    add_columns(table, heads)
    for size in sorted({size for path in paths for size in common_sizes(run, system, path)}):
        cells = [Text(format_size(size))]
        for path in paths:
            entry, point = run.entries.get((path, size)), system.curves[path].get(size)
            ours = "-" if entry is None else format_rate(entry.rate)
            theirs = "-" if point is None else format_rate(point.rate)
            cells += [Text(ours), Text(theirs, style="dim")]
            if published:
                gib = "-" if point is None else format_rate(point.gib_per_second * 1e9)
                cells.append(Text(gib, style="dim"))
            if entry is None or point is None:
                cells.append(Text("-"))
            else:
                ratio = entry.rate / point.rate
                cells.append(Text(figures.ratio(ratio), style="green" if ratio >= 1 else "yellow"))
        table.add_row(*cells)
    return table
