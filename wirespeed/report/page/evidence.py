"""Which wires the bytes travelled over: what their counters show, for the drawing and its table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.facts.nics import of_ranks
from wirespeed.report.facts.wire_verdicts import COPIES, of_path
from wirespeed.report.grouping import grouped
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import count, number, text
from wirespeed.results.parts import Copied, Copies, CountedWire, Rank, Wire
from wirespeed.results.runs import Evidence, Run
from wirespeed.units import format_size

MAX_RANKS = 64
"""More are not drawn."""
MAX_LETTERS = 600
"""Of the NICs of all ranks."""
MAX_NAMED = 8
"""Ranks named for the same copies."""
IDLE = 0.01
"""A wire that carried less of the bytes than this is idle."""
SHOWN_IDLE = set(WIRE_KINDS) - {"network", "loopback"}
"""That these were idle says something; a machine has many other interfaces."""


HEADS = ("path", "size", "verdict", "what the counters say", "copies")


def rows(run: Run) -> list[tuple[str, ...]]:
    """A row under HEADS for each path, in table order: its verdict at its largest size."""
    last = [found[-1] for path in run.paths if (found := of_path(run, path))]
    return [
        (
            text(evidence.path),
            format_size(evidence.bytes),
            text(evidence.verdict),
            _told_of(evidence),
            copies(evidence.copies),
        )
        for evidence in last
    ]


def _told_of(evidence: Evidence) -> str:
    """The verdict in words, and by which NICs each rank's bytes left."""
    nics = f"; NICs: {of_ranks(evidence.nics)}" if evidence.nics else ""
    return text(evidence.text) + text(nics, MAX_LETTERS)


def copies(ranks: Sequence[Copies]) -> str:
    """'each of 2 ranks: 50 from the host (50 MiB)': what the ranks' drivers saw, alike ranks together."""
    alike = grouped((_told(rank), rank.rank) for rank in ranks)
    return "; ".join(f"{_who(who, alone=len(alike) == 1)}: {words}" for words, who in alike.items())


def _told(rank: Copies) -> str:
    kinds: list[tuple[str, Copied]] = [(name, getattr(rank, key)) for key, name in COPIES.items()]
    told = [f"{kind.count} {name} ({format_size(kind.bytes)})" for name, kind in kinds if kind.count]
    return ", ".join(told) or "no copies"


def _who(ranks: Sequence[int], *, alone: bool) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if alone:
        return f"each of {len(ranks)} ranks"
    named = ", ".join(map(str, ranks[:MAX_NAMED]))
    return f"ranks {named}" + (f" and {len(ranks) - MAX_NAMED} more" if len(ranks) > MAX_NAMED else "")


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
