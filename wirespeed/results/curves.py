"""Findings about the curves of a run's paths: the judge's, of figures that are sure and narrow enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wirespeed.judge.curve import of_shape
from wirespeed.judge.given import Curve, Finding, Point
from wirespeed.results.model import Entry
from wirespeed.results.runs import Run

WIDEST = 0.25
"""Half width of an interval, as a share of the median, beyond which a figure shows no cliff and no hump."""


def curve_findings(run: Run) -> Iterator[tuple[str, Finding]]:
    """(path, finding). None of a run slowed on purpose, nor where larger sizes do not move more bytes."""
    traits = run.traits
    if run.slowed or traits.kind.program or traits.kind.scattered:
        return
    for path in run.paths:
        if curve := _curve(run, path):
            yield from ((path, found) for found in of_shape(curve))


def as_records(run: Run) -> list[dict[str, Any]]:
    """Findings as records for programs."""
    return [
        {"kind": "finding", "run": run.name, "path": path, "finding": found.kind}
        | {name: getattr(found, name) for name in ("severity", "seen", "cause", "do")}
        for path, found in curve_findings(run)
    ]


def _curve(run: Run, path: str) -> Curve | None:
    entries = [entry for entry in run.of_path(path) if entry.bytes and entry.amount and _narrow(entry)]
    if len({entry.amount for entry in entries}) < len(entries):
        return None
    step = run.step(path)
    devices = [(rank.host, rank.device.id) for rank in step.ranks if rank.device]
    if step.memory == "device" and len(set(devices)) < len(devices):
        # Ranks that share a GPU take turns, which its own line says.
        return None
    memory = " ".join("D" if name == "device" else "H" for name in (step.memory, step.into or step.memory))
    return Curve(
        "wirespeed",
        points=tuple(Point(entry.bytes, entry.seconds, entry.rate) for entry in entries),
        operation=run.head.plan.pattern,
        name=path,
        memory=memory,
        ranks=len(step.ranks),
        hosts=len({rank.host for rank in step.ranks}),
    )


def _narrow(entry: Entry) -> bool:
    return entry.sure and (entry.precision is None or entry.precision <= WIDEST)
