"""Curves that others published, beside ours: wirespeed/systems/NAME.toml and the data file it names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wirespeed.errors import WirespeedError
from wirespeed.report import words
from wirespeed.report.records import Run
from wirespeed.report.say import say
from wirespeed.report.table import GAP, add_columns, fits, new_table
from wirespeed.toml import parse
from wirespeed.units import format_size

FOLDER = Path(__file__).parent.parent / "systems"


@dataclass(frozen=True)
class Point:
    """One size of a published curve."""

    seconds: float
    gib_per_second: float

    @property
    def rate(self) -> float:
        """Bytes per second, from the bandwidth as published."""
        return self.gib_per_second * 2**30


@dataclass(frozen=True)
class System:
    """A machine whose figures were published."""

    name: str
    node: str
    source: str
    definition: str
    curves: dict[str, dict[int, Point]]
    """Path -> size -> point, under our names of the paths."""


def known_systems(folder: Path = FOLDER) -> list[str]:
    """Names that `--against` takes."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_system(name: str, folder: Path = FOLDER) -> System:
    """Raises WirespeedError that lists the systems there are."""
    if name.lower() not in known_systems(folder):
        known = ", ".join(known_systems(folder))
        raise WirespeedError(f"--against {name}: no curves of such a system are known; there are: {known}")
    data = parse((folder / f"{name.lower()}.toml").read_text(encoding="utf-8"))
    renamed = data.get("paths", {})
    curves: dict[str, dict[int, Point]] = {}
    with (folder / data["curves"]).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            curve = curves.setdefault(renamed.get(row["path"], row["path"]), {})
            curve[int(row["bytes"])] = Point(float(row["seconds_one_way"]), float(row["GiB_per_s"]))
    return System(data["name"], data["node"], data["source"], data["definition"], curves)


def print_against(console: Console, run: Run, system: System) -> None:
    """Our figures, theirs, and the ratio, for each path that both have."""
    console.print()
    console.print(Text(f"Beside {system.name}, as published", style="bold"))
    say(console, Text(f"{system.name}: {system.node}. Source: {system.source}", style="dim"))
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
            f"{system.definition}; ratio = ours / {system.name}",
            style="dim",
        ),
    )


def common_sizes(run: Run, system: System, path: str) -> list[int]:
    """Sizes of the path that both measured."""
    curve = system.curves.get(path, {})
    return [entry.bytes for entry in run.of_path(path) if entry.bytes in curve]


def _tables(console: Console, run: Run, system: System, paths: Sequence[str]) -> list[Table]:
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


def _build(run: Run, system: System, paths: Sequence[str], *, published: bool) -> Table:
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
            ours = "-" if entry is None else words.rate(entry.rate)
            theirs = "-" if point is None else words.rate(point.rate)
            cells += [Text(ours), Text(theirs, style="dim")]
            if published:
                gib = "-" if point is None else words.rate(point.gib_per_second * 1e9)
                cells.append(Text(gib, style="dim"))
            if entry is None or point is None:
                cells.append(Text("-"))
            else:
                ratio = entry.rate / point.rate
                cells.append(Text(words.ratio(ratio), style="green" if ratio >= 1 else "yellow"))
        table.add_row(*cells)
    return table
