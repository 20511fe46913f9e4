"""Which wire carried the bytes: what counters around the measurements saw, for the drawing and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.report.facts.wire_verdicts import of_path
from wirespeed.report.page.sources import Measured
from wirespeed.results.coerce import count, number, text
from wirespeed.results.parts import Copied, Copies, CountedWire, Rank, Wire
from wirespeed.results.runs import Run
from wirespeed.units import format_size

COPIES = (
    ("host_to_device", "host to device"),
    ("device_to_host", "device to host"),
    ("on_device", "on the device"),
    ("peer", "to another device"),
)
MOST_RANKS = 64
"""More are not drawn."""
MOST_NAMED = 8
"""Ranks named for the same copies."""
IDLE = 0.01
"""A wire that carried less of the bytes than this is idle."""
SHOWN_IDLE = ("nvlink", "xgmi", "pcie", "infiniband", "roce")
"""That they were idle says something; interfaces of a machine are many."""


@dataclass(frozen=True)
class Row:
    """One path's verdict at its largest size."""

    path: str
    bytes: int
    verdict: str
    words: str
    copies: str


def rows(run: Run) -> list[Row]:
    """A line for each path, in table order."""
    last = [found[-1] for path in run.paths if (found := of_path(run, path))]
    return [
        Row(text(one.path), one.bytes, text(one.verdict), text(one.text), copies(one.copies)) for one in last
    ]


def copies(ranks: Sequence[Copies]) -> str:
    """'each of 2 ranks: 50 host to device (50 MiB)': what the ranks' drivers saw, alike ranks together."""
    alike: dict[str, list[int]] = {}
    for rank in ranks:
        kinds: list[tuple[str, Copied]] = [(name, getattr(rank, key)) for key, name in COPIES]
        told = [f"{kind.count} {name} ({format_size(kind.bytes)})" for name, kind in kinds if kind.count]
        alike.setdefault(", ".join(told) or "no copies", []).append(rank.rank)
    return "; ".join(f"{_who(who, alone=len(alike) == 1)}: {words}" for words, who in alike.items())


def _who(ranks: Sequence[int], *, alone: bool) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if alone:
        return f"each of {len(ranks)} ranks"
    named = ", ".join(map(str, ranks[:MOST_NAMED]))
    return f"ranks {named}" + (f" and {len(ranks) - MOST_NAMED} more" if len(ranks) > MOST_NAMED else "")


def drawings(sets: Sequence[Measured]) -> list[dict[str, Any]]:
    """For each run with counted wires: its wires once, and for each path and size what they carried."""
    found = [_drawing(one) for one in sets if one.run.evidence]
    return [one for one in found if one["wires"]]


def _drawing(one: Measured) -> dict[str, Any]:
    wires: dict[tuple[str, str, str], int] = {}
    cases: list[dict[str, Any]] = []
    for path in one.run.paths:
        for evidence in of_path(one.run, path):
            carried = {}
            for wire in evidence.wires:
                place = wires.setdefault(_key(wire), len(wires))
                counted = [count(one) for one in (wire.sent, wire.received, wire.background)]
                carried[place] = [place, *counted, _share(wire, evidence.payload_bytes)]
            cases.append(
                {
                    "path": text(path),
                    "bytes": evidence.bytes,
                    "text": text(evidence.text),
                    "carried": list(carried.values()),
                }
            )
    busy = {wire[0] for case in cases for wire in case["carried"] if wire[-1] >= IDLE}
    kept = [key for key, place in wires.items() if place in busy or key[0] in SHOWN_IDLE]
    places = {wires[key]: place for place, key in enumerate(kept)}
    for case in cases:
        carried_by = case["carried"]
        case["carried"] = [[places[wire[0]], *wire[1:]] for wire in carried_by if wire[0] in places]
    rates = _rates(one.run)
    named = [{"kind": key[0], "host": key[1], "name": key[2], "rate": rates.get(key)} for key in kept]
    return {"set": one.number, "wires": named, "ranks": _ranks(one.run), "cases": cases}


def _key(wire: Wire | CountedWire) -> tuple[str, str, str]:
    return text(wire.kind), text(wire.host), text(wire.name)


def _share(wire: CountedWire, payload: int) -> float:
    """What the wire carried, of what it would have carried if all had passed it."""
    shares = [0.0]
    for counted, expected in ((wire.sent, wire.expected_sent), (wire.received, wire.expected_received)):
        due = expected or payload
        # The background is that of both directions; at worst all of it is in this one.
        shares.append(max(0, counted - wire.background) / due if due else 0.0)
    return number(max(shares)) or 0.0


def _rates(run: Run) -> dict[tuple[str, str, str], float | None]:
    """What each wire can carry, in bytes per second one way, where its driver says so."""
    return {_key(wire): number(wire.rate) for path in run.paths for wire in run.wires_of(path)}


def _ranks(run: Run) -> list[dict[str, Any]]:
    """Where ranks stood, as the last job step that says so has it."""
    for step in reversed(run.steps):
        if step.ranks:
            return [_place(rank) for rank in step.ranks[:MOST_RANKS]]
    return []


def _place(rank: Rank) -> dict[str, Any]:
    index = rank.device.index if rank.device and rank.device.kind != "host" else None
    return {"rank": count(rank.rank), "host": text(rank.host), "device": index}
