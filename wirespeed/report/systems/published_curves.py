"""Published curves compared with ours: those that wirespeed/systems/reference/ names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.text import Text

from wirespeed import systems
from wirespeed.errors import WirespeedError
from wirespeed.grouping import size_range
from wirespeed.report.console.columns import Column, Table, fold, table
from wirespeed.report.console.console import say
from wirespeed.report.facts import figures
from wirespeed.results.runs import Run
from wirespeed.systems.reference import CurvePoint, curves_of, kinds, load_curves
from wirespeed.systems.reference.model import Curves
from wirespeed.units import format_rate, format_size


@dataclass(frozen=True)
class PublishedCurves:
    """A machine whose figures were published as curves."""

    name: str
    published: Curves
    curves: dict[str, dict[int, CurvePoint]]
    """Path -> size -> point, under our names of the paths."""


def known_systems() -> list[str]:
    """Names that `--against` takes: of systems with published curves."""
    return [kind.system for kind in kinds().values() if kind.curves]


def load_system(name: str) -> PublishedCurves:
    """Raises WirespeedError that lists the systems there are."""
    system = systems.load(name.lower()) if name.lower() in systems.names() else None
    curves = curves_of(name.lower())
    if system is None or curves is None:
        of = system.name if system else "such a system"
        there = f"there are: {', '.join(known_systems())}"
        raise WirespeedError(f"--against {name}: no published curves of {of} are known; {there}")
    return PublishedCurves(system.name, curves, load_curves(curves))


def print_against(console: Console, run: Run, system: PublishedCurves) -> None:
    """Our figures, theirs, and the ratio, for each path that both have."""
    console.print()
    console.print(Text(f"Compared with {system.name}, as published", style="bold"))
    say(console, f"{system.name}: {system.published.setting}. Source: {system.published.source}", "dim")
    paths = [path for path in run.paths if common_sizes(run, system, path)]
    if not paths:
        have = ", ".join(system.curves)
        sizes = size_range([size for curve in system.curves.values() for size in curve])
        say(console, f"There is no path and size in common; {system.name} has {have}, {sizes}.")
        return
    console.print()

    def build(part: Sequence[str], _: int) -> Table[int]:
        sizes = sorted({size for path in part for size in common_sizes(run, system, path)})
        further = (column for path in part for column in _path_columns(run, system, path))
        return table([Column("size", format_size), *further], sizes)

    for part_table in fold(paths, build, console.width):
        console.print(part_table, crop=False)
        console.print()
    say(
        console,
        f"GB/s = 1e9 bytes per second; {system.name} published GiB/s (2^30), converted here; "
        f"{system.published.definition}; ratio = ours / {system.name}",
        "dim",
    )


def common_sizes(run: Run, system: PublishedCurves, path: str) -> list[int]:
    """Sizes of the path that both measured."""
    curve = system.curves.get(path, {})
    return [entry.bytes for entry in run.of_path(path) if entry.bytes in curve]


def _path_columns(run: Run, system: PublishedCurves, path: str) -> list[Column[int]]:
    ours = {entry.bytes: entry.rate for entry in run.of_path(path)}
    theirs = {size: point.rate for size, point in system.curves[path].items()}
    as_published = {size: point.gib_per_second * 1e9 for size, point in system.curves[path].items()}

    def rate(rates: Mapping[int, float], size: int) -> str | None:
        return format_rate(rates[size]) if size in rates else None

    def ratio(size: int) -> Text | None:
        if size not in ours or size not in theirs:
            return None
        value = ours[size] / theirs[size]
        return Text(figures.ratio(value), "green" if value >= 1 else "yellow")

    return [
        Column(f"{path}\nGB/s", partial(rate, ours), gap=4),
        Column(f"{system.name}\nGB/s", partial(rate, theirs), style="dim", gap=3),
        Column(f"{system.name}\nGiB/s", partial(rate, as_published), style="dim", gap=3, drop=1),
        Column("ratio", ratio, gap=3),
    ]
