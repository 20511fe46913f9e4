"""Figures that are compared side by side: groups of ranks beside their limit, copies alone and together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.report.page.sources import Measured
from wirespeed.report.terminal.copy_table import ALONE, TOGETHER, slowest
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size


@dataclass(frozen=True)
class Bar:
    """One figure in bytes per second."""

    label: str
    path: str
    value: float
    note: str
    limit: float | None = None
    paler: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars that share one scale."""

    title: str
    bars: tuple[Bar, ...]

    @property
    def most(self) -> float:
        """The scale's end, in bytes per second."""
        return max([bar.value for bar in self.bars] + [bar.limit or 0 for bar in self.bars]) or 1.0


def bars(sets: Sequence[Measured]) -> list[Bars]:
    """Of groups and of copies, each path at its largest size."""
    found = []
    groups = [one for one in sets if one.pattern == "groups"]
    if any(one.run.entries for one in groups):
        title = "Bandwidth out of the slowest group, largest message"
        found.append(Bars(title, tuple(bar for one in groups for bar in _groups(one, len(groups) > 1))))
    for one in sets:
        if one.run.view == "copies" and one.run.entries:
            named = f": {one.label}" if sum(other.run.view == "copies" for other in sets) > 1 else ""
            across, inside = _sides(one.run)
            found.append(Bars(f"Copies, slowest rank{named}", tuple(_copies(one.run, across))))
            # Tens of times as fast: on one scale with the others nobody would see those.
            found.append(Bars(f"Copies on the GPU, slowest rank{named}", tuple(_copies(one.run, inside))))
    return [one for one in found if one.bars]


def _largest(run: Run, path: str) -> Entry:
    return run.of_path(path)[-1]


def _groups(one: Measured, several: bool) -> list[Bar]:
    made = []
    for path in one.run.paths:
        entry = _largest(one.run, path)
        if not entry.amount:
            continue
        limit = one.run.ceiling(path)
        note = f"{format_rate(entry.rate)} GB/s"
        note += f", {100 * entry.rate / limit.rate:.0f} % of {format_rate(limit.rate)}" if limit else ""
        label = f"{path}, {format_size(entry.bytes)}"
        label = f"{one.label}: {label}" if several else label
        made.append(Bar(text(label), text(path), entry.rate, note, limit.rate if limit else None))
    return made


def _sides(run: Run) -> tuple[list[str], list[str]]:
    """Paths whose copies touch the host's memory, and those that stay on the GPU."""
    inside = [path for path in run.paths if _place(run, path) == ("device", "device")]
    return [path for path in run.paths if path not in inside], inside


def _place(run: Run, path: str) -> tuple[str, str]:
    step = run.step(path)
    return step.memory, step.into or step.memory


def _copies(run: Run, paths: Sequence[str]) -> list[Bar]:
    made = []
    for path in paths:
        entry = _largest(run, path)
        if not entry.amount:
            continue
        label = f"{text(path)}, {format_size(entry.bytes)}"
        alone, together = slowest(entry, ALONE), slowest(entry, TOGETHER)
        if alone is None or together is None:
            made.append(Bar(label, text(path), entry.rate, f"{format_rate(entry.rate)} GB/s"))
            continue
        rates = (entry.amount / alone, entry.amount / together)
        made.append(Bar(label, text(path), rates[0], f"{format_rate(rates[0])} GB/s alone"))
        made.append(Bar("", text(path), rates[1], f"{format_rate(rates[1])} GB/s with all", paler=True))
    return made
