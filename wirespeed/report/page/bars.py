"""Figures that are compared side by side: groups of ranks with their limit, copies alone and together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts.shares import percent, share
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
    bars: list[Bar]

    @property
    def most(self) -> float:
        """The scale's end, in bytes per second."""
        return max([bar.value for bar in self.bars] + [bar.limit or 0 for bar in self.bars]) or 1.0


def bars(sets: Sequence[Measured]) -> list[Bars]:
    """Of groups and of copies, each path at its largest size."""
    groups = [one for one in sets if one.pattern == "groups"]
    copies = [one for one in sets if one.run.view == "copies"]
    out = [bar for one in groups for bar in _groups(one, len(groups) > 1)]
    found = [Bars("Bandwidth out of the slowest group, largest message", out)]
    for one in copies:
        named = f": {one.label}" if len(copies) > 1 else ""
        # Copies on the GPU are tens of times as fast: on one scale with them nobody would see the others.
        for title, on_device in (("Copies", False), ("Copies on the GPU", True)):
            paths = [path for path in one.run.paths if _on_device(one.run, path) is on_device]
            found.append(Bars(f"{title}, slowest rank{named}", [*_copies(one.run, paths)]))
    return [one for one in found if one.bars]


def _largest(run: Run, paths: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    """(path and size, entry): each path's largest size."""
    for entry in (run.of_path(path)[-1] for path in paths):
        if entry.amount:
            yield text(f"{entry.path}, {format_size(entry.bytes)}"), entry


def _groups(one: Measured, several: bool) -> Iterator[Bar]:
    for label, entry in _largest(one.run, one.run.paths):
        limit = one.run.ceiling(entry.path)
        part = share(entry, limit)
        note = f"{format_rate(entry.rate)} GB/s"
        note += f", {percent(part)} of {format_rate(limit.rate)}" if limit and part is not None else ""
        label = f"{one.label}: {label}" if several else label
        yield Bar(label, text(entry.path), entry.rate, note, limit.rate if limit else None)


def _on_device(run: Run, path: str) -> bool:
    step = run.step(path)
    return step.memory == "device" and step.into in ("", "device")


def _copies(run: Run, paths: Sequence[str]) -> Iterator[Bar]:
    for label, entry in _largest(run, paths):
        path, alone, together = text(entry.path), slowest(entry, ALONE), slowest(entry, TOGETHER)
        if alone is None or together is None:
            yield Bar(label, path, entry.rate, f"{format_rate(entry.rate)} GB/s")
        else:
            rates = entry.amount / alone, entry.amount / together
            yield Bar(label, path, rates[0], f"{format_rate(rates[0])} GB/s alone")
            yield Bar("", path, rates[1], f"{format_rate(rates[1])} GB/s with all", paler=True)
