"""The data that the page's script draws: curves, ratios, matrices, and the wires that carried the bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.grouping import grouped
from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.facts.contrasts import Contrast, pairs
from wirespeed.report.facts.figure_columns import figure_columns, share_of_baseline
from wirespeed.report.facts.markers import sign
from wirespeed.report.facts.scaling import Scaling, ScalingCurve, scalings
from wirespeed.report.page.styles import Style
from wirespeed.report.sources import ReportRun
from wirespeed.report.systems.published_curves import known_systems, load_system
from wirespeed.report.views import view_of
from wirespeed.report.views.pairs import fans, matrices
from wirespeed.results.coerce import MAX_EXACT, count, number, text
from wirespeed.results.parts import CountedWire, Rank, Wire
from wirespeed.results.runs import Evidence

SHOWN_AT_FIRST = 20
"""More curves would hide each other: then one run's are shown until others are asked for."""
MAX_RANKS = 64
"""More are not drawn."""
IDLE = 0.01
"""A wire that carried less of the bytes than this is idle."""
SHOWN_IDLE = set(WIRE_KINDS) - {"network", "loopback"}
"""That these were idle says something; a machine has many other interfaces."""


def page_data(sets: Sequence[ReportRun], looks: Mapping[str, Style], first: str) -> dict[str, Any]:
    """Data that the page's script draws: medians and intervals, no histograms, no samples.

    `first`: the pattern of the main chart.
    """
    return {
        "paths": {text(name): {"hue": look.hue, "dash": look.dashes} for name, look in looks.items()},
        "sets": [
            {"label": measured.label, "letter": measured.letter, "pattern": measured.pattern}
            for measured in sets
        ],
        "charts": charts(sets, first),
        "prices": prices(sets),
        "reached": reached(sets),
        "scaling": [_scaling(found) for found in scalings(sets)],
        "matrices": matrices(sets),
        "fans": fans(sets),
        "wires": drawings(sets),
        "kinds": {
            kind: {"name": wire_kind.name, "gpu": not wire_kind.of_host}
            for kind, wire_kind in WIRE_KINDS.items()
        },
    }


def charts(sets: Sequence[ReportRun], first: str) -> list[dict[str, Any]]:
    """One for each pattern, `first` before the others, the runs with most figures first.

    A program has one size, and bars instead (wirespeed/report/views/program.py).
    """
    patterns = dict.fromkeys(
        measured.pattern for measured in sets if measured.run.entries and view_of(measured.run).curves
    )
    order = sorted(patterns, key=lambda name: name != first)
    return [_chart(name, [measured for measured in sets if measured.pattern == name]) for name in order]


def _chart(pattern: str, sets: Sequence[ReportRun]) -> dict[str, Any]:
    ranked = sorted(sets, key=lambda measured: -len(measured.run.entries))
    series = [_curve(measured, path) for measured in ranked for path in measured.run.paths]
    few = len(series) <= SHOWN_AT_FIRST
    return {
        "pattern": pattern,
        "time": text(ranked[0].run.time_label),
        "sizes": ranked[0].run.traits.size_rule.label,
        "series": series,
        "published": _published(ranked),
        "shown": [measured.number for measured in (ranked if few else ranked[:1])],
    }


def _curve(measured: ReportRun, path: str) -> dict[str, Any]:
    """Sizes and bytes moved, seconds with the ends of their interval, marks; the limit in bytes/s.

    `columns`: cells of the table's further columns.
    `impossible`: sizes whose figures cannot be true, which have a word in the table and no point.
    """
    entries = [entry for entry in measured.run.of_path(path) if max(entry.bytes, entry.amount) <= MAX_EXACT]
    curve: dict[str, Any] = {"path": text(path), "set": measured.number}
    curve["bytes"] = [entry.bytes for entry in entries]
    for name in ("seconds", "low", "high"):
        curve[name] = [number(getattr(entry, name)) for entry in entries]
    if any(entry.amount != entry.bytes for entry in entries):
        curve["moved"] = [entry.amount for entry in entries]
    if measured.run.launches > 1:
        curve["launches"] = [entry.launches for entry in entries]
    if any(marks := [sign(measured.run, entry) for entry in entries]):
        curve["marks"] = marks
    for more in figure_columns(measured.run):
        cells = [text(more.cell(entry) or "") for entry in entries]
        curve.setdefault("columns", {})[text(more.title)] = cells
    if false := [entry for (name, _), entry in measured.run.impossible.items() if name == path]:
        curve["impossible"] = [entry.bytes for entry in false if entry.bytes <= MAX_EXACT]
    if limit := measured.run.ceiling(path):
        curve["limit"] = number(limit.rate)
        curve["cached"] = limit.cached
    return curve


def _published(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """Curves that others published for this pattern, of the paths that are here."""
    paths = {path for measured in sets for path in measured.run.paths}
    wanted = known_systems() if any(measured.run.published for measured in sets) else ()
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


def reached(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """Shares of a baseline's speed, in per cent, for each path: of a list of blocks, of one message's."""
    found = []
    for measured in sets:
        for path in measured.run.paths:
            entries = [entry for entry in measured.run.of_path(path) if entry.bytes <= MAX_EXACT]
            shares = [(entry.bytes, share_of_baseline(measured.run, entry)) for entry in entries]
            known = [(size, share) for size, share in shares if share]
            if known:
                found.append(
                    {
                        "set": measured.number,
                        "path": text(path),
                        "name": text(known[0][1].name),
                        "bytes": [size for size, _ in known],
                        "share": [number(100 * share.share) for _, share in known],
                        "low": [number(share.low and 100 * share.low) for _, share in known],
                        "high": [number(share.high and 100 * share.high) for _, share in known],
                    }
                )
    return found


def _scaling(found: Scaling) -> dict[str, Any]:
    """Seconds of a step and efficiency in per cent, with the ends of their intervals, by number of ranks."""
    return {
        "title": found.title,
        "ideal": {"ranks": found.ranks, "seconds": [number(found.ideal(ranks)) for ranks in found.ranks]},
        "curves": [
            {
                "path": text(curve.path),
                "label": curve.label,
                "ranks": [point.ranks for point in curve.points],
                "marks": [point.mark for point in curve.points],
                "seconds": [number(point.entry.seconds) for point in curve.points],
                "seconds_low": [number(point.entry.low) for point in curve.points],
                "seconds_high": [number(point.entry.high) for point in curve.points],
                **_efficiency(found, curve),
            }
            for curve in found.curves
        ],
    }


def _efficiency(found: Scaling, curve: ScalingCurve) -> dict[str, list[float | None]]:
    shares = [found.efficiency(point) for point in curve.points]
    names = ("efficiency", "efficiency_low", "efficiency_high")
    return {name: [number(100 * share[place]) for share in shares] for place, name in enumerate(names)}


def prices(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """Worth of something: for each pair of paths that differ by it alone, the ratio at each size."""
    found = [_price(measured, pair) for measured in sets for pair in pairs(measured.run)]
    return [price for price in found if price["bytes"]]


def _price(measured: ReportRun, pair: Contrast) -> dict[str, Any]:
    worths = [(size, worth) for size in measured.run.sizes if (worth := pair.of(measured.run, size))]
    members = {"ratio": "value", "low": "low", "high": "high"}
    return {
        "set": measured.number,
        "path": text(pair.path),
        "without": text(pair.other),
        "what": pair.what,
        "bytes": [size for size, _ in worths],
        **{name: [number(getattr(worth, of)) for _, worth in worths] for name, of in members.items()},
    }


def drawings(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """For each run with counted wires: its wires once, and for each path and size what they carried."""
    found = [_drawing(measured) for measured in sets if measured.run.evidence]
    return [record for record in found if record["wires"]]


def _drawing(measured: ReportRun) -> dict[str, Any]:
    cases = [case for path in measured.run.paths for case in measured.run.evidence_of(path)]
    seen = grouped((_key(wire), _share(wire, case.payload_bytes)) for case in cases for wire in case.wires)
    kept = [key for key, shares in seen.items() if max(shares) >= IDLE or key[0] in SHOWN_IDLE]
    # Bytes per second one way, where the wire's driver states them.
    rates = {
        _key(wire): number(wire.rate) for path in measured.run.paths for wire in measured.run.wires_of(path)
    }
    # Where ranks are, as the last job step that has it says.
    ranks: Sequence[Rank] = next((step.ranks for step in reversed(measured.run.steps) if step.ranks), ())
    return {
        "set": measured.number,
        "wires": [{"kind": key[0], "host": key[1], "name": key[2], "rate": rates.get(key)} for key in kept],
        "ranks": [_place(rank) for rank in ranks[:MAX_RANKS]],
        "cases": [_case(case, kept) for case in cases],
    }


def _case(case: Evidence, kept: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """`carried`: [place among the wires kept, bytes sent, received, background, share] for each wire."""
    wires, carried = {_key(wire): wire for wire in case.wires}, []
    for place, wire in ((place, wires[key]) for place, key in enumerate(kept) if key in wires):
        counted = map(count, (wire.sent, wire.received, wire.background))
        carried.append([place, *counted, _share(wire, case.payload_bytes)])
    return {"path": text(case.path), "bytes": case.bytes, "text": text(case.text), "carried": carried}


def _key(wire: Wire | CountedWire) -> tuple[str, str, str]:
    return text(wire.kind), text(wire.host), text(wire.name)


def _share(wire: CountedWire, payload: int) -> float:
    """The bytes over the wire, as a share of what it would be if all had passed it."""
    sides = ((wire.sent, wire.expected_sent), (wire.received, wire.expected_received))
    # The background is that of both directions; at worst all of it is in this one.
    shares = [max(0, counted - wire.background) / (due or payload or math.inf) for counted, due in sides]
    return number(max(shares)) or 0.0


def _place(rank: Rank) -> dict[str, Any]:
    index = rank.device.index if rank.device and rank.device.kind != "host" else None
    return {"rank": count(rank.rank), "host": text(rank.host), "device": index}
