"""The drawing of the wires that the bytes travelled over, as their counters show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.facts.wire_verdicts import of_path
from wirespeed.report.grouping import grouped
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import count, number, text
from wirespeed.results.parts import CountedWire, Rank, Wire
from wirespeed.results.runs import Evidence

MAX_RANKS = 64
"""More are not drawn."""
IDLE = 0.01
"""A wire that carried less of the bytes than this is idle."""
SHOWN_IDLE = set(WIRE_KINDS) - {"network", "loopback"}
"""That these were idle says something; a machine has many other interfaces."""


def drawings(sets: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """For each run with counted wires: its wires once, and for each path and size what they carried."""
    found = [_drawing(measured) for measured in sets if measured.run.evidence]
    return [record for record in found if record["wires"]]


def _drawing(measured: ReportRun) -> dict[str, Any]:
    cases = [case for path in measured.run.paths for case in of_path(measured.run, path)]
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
