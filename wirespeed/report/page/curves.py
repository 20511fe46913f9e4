"""Latency and bandwidth against size: the columns that the page's charts are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wirespeed.report.facts.markers import sign
from wirespeed.report.facts.speedup import Pair, pairs
from wirespeed.report.grouping import grouped
from wirespeed.report.page.sources import Measured
from wirespeed.report.systems.published_curves import known_systems, load_system
from wirespeed.results.coerce import MOST_EXACT, number, text
from wirespeed.results.runs import Run

SHOWN_AT_FIRST = 20
"""More curves would hide each other: then one run's are shown until others are asked for."""


def charts(sets: Sequence[Measured], first: str) -> list[dict[str, Any]]:
    """One for each pattern, `first` before the others, the runs with most figures first.

    A program has one size, and bars instead (bars.py).
    """
    patterns = dict.fromkeys(one.pattern for one in sets if one.run.entries and one.run.view != "program")
    order = sorted(patterns, key=lambda name: name != first)
    return [_chart(name, [one for one in sets if one.pattern == name]) for name in order]


def _chart(pattern: str, sets: Sequence[Measured]) -> dict[str, Any]:
    ranked = sorted(sets, key=lambda one: -len(one.run.entries))
    series = [_curve(one, path) for one in ranked for path in one.run.paths]
    few = len(series) <= SHOWN_AT_FIRST
    return {
        "pattern": pattern,
        "time": text(ranked[0].run.way),
        "series": series,
        "limits": limits(one.run for one in ranked),
        "published": _published(ranked),
        "shown": [one.number for one in (ranked if few else ranked[:1])],
    }


def _curve(one: Measured, path: str) -> dict[str, Any]:
    """Sizes and bytes moved, seconds with the ends of their interval, marks; the limit in bytes/s."""
    entries = [entry for entry in one.run.of_path(path) if max(entry.bytes, entry.amount) <= MOST_EXACT]
    curve: dict[str, Any] = {"path": text(path), "set": one.number}
    curve["bytes"] = [entry.bytes for entry in entries]
    for name in ("seconds", "low", "high"):
        curve[name] = [number(getattr(entry, name)) for entry in entries]
    if any(entry.amount != entry.bytes for entry in entries):
        curve["moved"] = [entry.amount for entry in entries]
    if one.run.launches > 1:
        curve["launches"] = [entry.launches for entry in entries]
    if any(marks := [sign(one.run, entry) for entry in entries]):
        curve["marks"] = marks
    if limit := one.run.ceiling(path):
        curve["limit"] = number(limit.rate)
        curve["cached"] = limit.cached
    return curve


def limits(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Each different limit: its rate, equation and source, and the paths that it holds for."""
    known = [(path, limit) for run in runs for path in run.paths if (limit := run.ceiling(path))]
    found = grouped(((limit.rate, limit.equation, limit.source), text(path)) for path, limit in known)
    return [
        {
            "rate": number(rate),
            "equation": text(equation),
            "source": text(source),
            "paths": [*dict.fromkeys(found[rate, equation, source])],
        }
        for rate, equation, source in sorted(found)
    ]


def _published(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """Curves that others published for this pattern, of the paths that are here."""
    paths = {path for one in sets for path in one.run.paths}
    wanted = known_systems() if any(one.run.published for one in sets) else ()
    return [
        {
            "system": system.name,
            "path": path,
            "source": system.published.source,
            "setting": system.published.setting,
            "bytes": sorted(points),
            "seconds": [number(points[size].seconds) for size in sorted(points)],
            "rates": [number(points[size].rate) for size in sorted(points)],
        }
        for system in map(load_system, wanted)
        for path, points in system.curves.items()
        if path in paths
    ]


def prices(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """What something is worth: for each pair of paths that differ by it alone, the ratio at each size."""
    return [price for one in sets for pair in pairs(one.run) if (price := _price(one, pair))["bytes"]]


def _price(one: Measured, pair: Pair) -> dict[str, Any]:
    worths = [(size, worth) for size in one.run.sizes if (worth := pair.worth(one.run, size))]
    return {
        "set": one.number,
        "path": text(pair.path),
        "without": text(pair.without),
        "what": pair.what,
        "bytes": [size for size, _ in worths],
        **{name: [number(getattr(worth, name)) for _, worth in worths] for name in ("ratio", "low", "high")},
    }
