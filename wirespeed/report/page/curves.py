"""Latency and bandwidth against size: the columns that the page's charts are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wirespeed.limits import Ceiling
from wirespeed.report.facts.markers import mark
from wirespeed.report.facts.speedup import pairs
from wirespeed.report.page import published
from wirespeed.report.page.sources import Measured
from wirespeed.report.systems.published_curves import known_systems
from wirespeed.results.coerce import MOST_EXACT, number, text
from wirespeed.results.runs import Entry, Run

SHOWN_AT_FIRST = 20
"""More curves would hide each other: then one run's are shown until others are asked for."""


def charts(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """One for each pattern, the runs with most figures first."""
    patterns = dict.fromkeys(one.pattern for one in sets if one.run.entries)
    return [_chart(name, [one for one in sets if one.pattern == name]) for name in patterns]


def _chart(pattern: str, sets: Sequence[Measured]) -> dict[str, Any]:
    ranked = sorted(sets, key=lambda one: -len(one.run.entries))
    series = [curve for one in ranked for curve in _curves(one)]
    few = len(series) <= SHOWN_AT_FIRST
    return {
        "pattern": pattern,
        "time": text(ranked[0].run.way),
        "series": series,
        "limits": limits(one.run for one in ranked),
        "published": _published(ranked),
        "shown": [one.number for one in (ranked if few else ranked[:1])],
    }


def _curves(one: Measured) -> list[dict[str, Any]]:
    return [{"path": text(path), "set": one.number, **_columns(one.run, path)} for path in one.run.paths]


def _columns(run: Run, path: str) -> dict[str, Any]:
    """Sizes and bytes moved, seconds with the ends of their interval, marks; the limit in bytes/s."""
    entries = [entry for entry in run.of_path(path) if max(entry.bytes, entry.amount) <= MOST_EXACT]
    columns: dict[str, Any] = {
        "bytes": [entry.bytes for entry in entries],
        "seconds": [number(entry.seconds) for entry in entries],
        "low": [number(entry.low) for entry in entries],
        "high": [number(entry.high) for entry in entries],
    }
    if any(entry.amount != entry.bytes for entry in entries):
        columns["moved"] = [entry.amount for entry in entries]
    marks = [mark(entry) for entry in entries]
    if any(marks):
        columns["marks"] = marks
    if limit := run.ceiling(path):
        columns["limit"] = number(limit.rate)
    return columns


def limits(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Each different limit: its rate, equation and source, and the paths that it holds for."""
    found: dict[tuple[float, str, str], list[str]] = {}
    for run in runs:
        for path in run.paths:
            if limit := run.ceiling(path):
                names = found.setdefault((limit.rate, limit.equation, limit.source), [])
                names += [] if path in names else [path]
    return [
        {
            "rate": number(rate),
            "equation": text(equation),
            "source": text(source),
            "paths": [text(name) for name in names],
        }
        for (rate, equation, source), names in sorted(found.items())
    ]


def share(entry: Entry, limit: Ceiling | None) -> float | None:
    """What of its limit a figure reaches; more than 1 cannot be."""
    return entry.rate / limit.rate if limit and entry.amount else None


def _published(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """Curves that others published for this pattern, of the paths that are here."""
    if not any(one.run.published for one in sets):
        return []
    paths = {path for one in sets for path in one.run.paths}
    return [
        {
            "system": curve.system,
            "path": curve.path,
            "source": curve.source,
            "setting": curve.setting,
            "bytes": curve.sizes,
            "seconds": [number(value) for value in curve.seconds],
            "rates": [number(value) for value in curve.rates],
        }
        for name in known_systems()
        for curve in published.curves(name)
        if curve.path in paths
    ]


def prices(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """What something is worth: for each pair of paths that differ by it alone, the ratio at each size."""
    found = []
    for one in sets:
        for pair in pairs(one.run):
            worths = [(size, worth) for size in one.run.sizes if (worth := pair.worth(one.run, size))]
            found.append(
                {
                    "set": one.number,
                    "path": text(pair.path),
                    "without": text(pair.without),
                    "what": pair.what,
                    "bytes": [size for size, _ in worths],
                    "ratio": [number(worth.ratio) for _, worth in worths],
                    "low": [number(worth.low) for _, worth in worths],
                    "high": [number(worth.high) for _, worth in worths],
                }
            )
    return [one for one in found if one["bytes"]]
