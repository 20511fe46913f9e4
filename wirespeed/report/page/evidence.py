"""Which wire carried the bytes: what counters around the measurements saw, for the drawing and its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wirespeed.report.page.clean import count, number, record, records, text
from wirespeed.report.page.sources import Measured
from wirespeed.report.records import Record, Run
from wirespeed.units import format_size

VERDICTS = ("direct", "staged", "network", "shared memory", "mixed", "unknown")
COPIES = (
    ("host_to_device", "host to device"),
    ("device_to_host", "device to host"),
    ("device_to_device", "on the device"),
    ("peer", "to another device"),
)


@dataclass(frozen=True)
class Row:
    """One path's verdict at its largest size."""

    path: str
    bytes: int
    verdict: str
    words: str
    copies: str
    suspicious: str


def of(run: Run) -> dict[tuple[str, int], Record]:
    """(path, size) -> evidence, of the latest entry that has some."""
    found = {}
    for entry in run.records:
        evidence = entry.get("evidence")
        if entry.get("kind") == "entry" and isinstance(evidence, dict):
            key = (str(entry.get("path")), count(entry.get("bytes")))
            if key in run.entries:
                found[key] = evidence
    return found


def verdict(evidence: Record) -> str:
    """One of VERDICTS; what is none of them is unknown."""
    said = evidence.get("verdict")
    return said if said in VERDICTS else "unknown"


def words(evidence: Record) -> str:
    """'direct over NVLink (100 % of the bytes)'; how much of it may have been somebody else's."""
    said = text(evidence.get("text") or verdict(evidence))
    doubt = number(evidence.get("doubt"))
    return f"{said}, ±{100 * doubt:.1f} %" if doubt else said


def rows(run: Run) -> list[Row]:
    """A line for each path, in table order."""
    found = of(run)
    lines = []
    for path in run.paths:
        sizes = [size for name, size in found if name == path]
        if sizes:
            evidence = found[path, max(sizes)]
            suspicious = text(evidence.get("suspicious") or "")
            lines.append(
                Row(
                    text(path),
                    max(sizes),
                    verdict(evidence),
                    words(evidence),
                    copies(evidence),
                    suspicious,
                )
            )
    return lines


def copies(evidence: Record) -> str:
    """'rank 0: 50 host to device (52428800 B)': copies of each kind that the ranks' drivers saw."""
    parts = []
    for rank in records(evidence.get("copies")):
        kinds = [(name, record(rank.get(key))) for key, name in COPIES]
        told = [
            f"{count(kind.get('count'))} {name} ({format_size(count(kind.get('bytes')))})"
            for name, kind in kinds
            if count(kind.get("count"))
        ]
        parts.append(f"rank {count(rank.get('rank'))}: {', '.join(told) or 'no copies'}")
    return "; ".join(parts)


def drawings(sets: list[Measured]) -> list[dict[str, Any]]:
    """For each run with evidence: its wires once, and for each path and size what they carried."""
    found = [_drawing(one) for one in sets if of(one.run)]
    return [one for one in found if one["wires"]]


def _drawing(one: Measured) -> dict[str, Any]:
    wires: dict[tuple[str, str, str], int] = {}
    cases = []
    for (path, size), evidence in sorted(of(one.run).items()):
        carried: dict[int, list[int]] = {}
        for wire in records(evidence.get("wires")):
            key = (text(wire.get("kind")), text(wire.get("host")), text(wire.get("name")))
            place = wires.setdefault(key, len(wires))
            counted = [count(wire.get(name)) for name in ("sent", "received", "background")]
            before = carried.get(place, [0, 0, 0])
            carried[place] = [a + b for a, b in zip(before, counted, strict=True)]
        cases.append(
            {
                "path": text(path),
                "bytes": size,
                "sent": count(evidence.get("sent")),
                "verdict": verdict(evidence),
                "text": words(evidence),
                "carried": [[place, *counted] for place, counted in sorted(carried.items())],
            }
        )
    kept = [{"kind": kind, "host": host, "name": name} for kind, host, name in wires]
    return {"set": one.number, "wires": kept, "ranks": _ranks(one.run), "cases": cases}


def _ranks(run: Run) -> list[dict[str, Any]]:
    """Where ranks stood, as the last job step that says so has it."""
    for step in reversed(run.steps):
        ranks = records(step.get("ranks"))
        if ranks:
            return [
                {
                    "rank": count(rank.get("rank")),
                    "host": text(rank.get("host")),
                    "device": record(rank.get("device")).get("index")
                    if isinstance(record(rank.get("device")).get("index"), int)
                    else None,
                }
                for rank in ranks[:MOST_RANKS]
            ]
    return []


MOST_RANKS = 64
"""More are not drawn."""
