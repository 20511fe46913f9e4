"""Figures for Prometheus: a file for node_exporter's textfile collector, in base units.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timezone
from functools import reduce

from wirespeed.grouping import grouped
from wirespeed.report.facts.labels import conditions, derived, failures, figures, gpu, host, mpi, trusted
from wirespeed.report.facts.labels import pattern as pattern_of
from wirespeed.report.facts.markers import sign
from wirespeed.results.launches import with_earlier
from wirespeed.results.parts import moment
from wirespeed.results.runs import Entry, Run

Labels = tuple[tuple[str, str], ...]


def _when(_: Run, entry: Entry) -> float | None:
    at = moment(entry.at)
    return at.replace(tzinfo=timezone.utc).timestamp() if at else None


def _limit(run: Run, entry: Entry) -> float | None:
    found = run.ceiling(entry.path)
    return found.rate if found and found.applies(entry.bytes) else None


def _end(name: str) -> Callable[[Run, Entry], float | None]:
    return lambda _, entry: None if entry.precision is None else getattr(entry, name)


METRICS: dict[str, tuple[str, Callable[[Run, Entry], float | None]]] = {
    "time_seconds": (
        "Median time; of a ping-pong one way, else as the definition in the result file says.",
        lambda _, entry: entry.seconds,
    ),
    "time_low_seconds": ("Lower end of the median's 95 % interval.", _end("low")),
    "time_high_seconds": ("Upper end of the median's 95 % interval.", _end("high")),
    "bandwidth_bytes_per_second": ("Bytes over the median time.", lambda _, entry: entry.rate or None),
    "baseline_seconds": (
        "Median time of the same bytes moved in a simpler way: of a list, as one contiguous message.",
        lambda _, entry: entry.baseline_s,
    ),
    "limit_bytes_per_second": ("What the wires under this path can carry.", _limit),
    "launches": (
        "Launches, with new processes each, behind a median of several.",
        lambda _, entry: entry.launches if entry.launches > 1 else None,
    ),
    "samples": ("Samples behind the median.", lambda _, entry: entry.samples),
    "measured_timestamp_seconds": ("When it was measured, as Unix time.", _when),
}
"""Name: what it means, and an entry's value, None where it has none."""


def to_prometheus(runs: Sequence[Run]) -> str:
    """Every figure once: of several with the same labels the last one counts, as the collector demands.

    A figure that is trusted now takes the place of one that was not.
    """
    last = {
        _labels(run, entry.pattern, entry.path, entry.memory, entry.bytes): (run, entry)
        for run, entry in figures(runs)
    }
    good = {id(run): trusted(run) for run, _ in last.values()}
    entries = {(*labels, ("trusted", good[id(found[0])])): found for labels, found in last.items()}
    lines: list[str] = []
    for name, (text, value) in METRICS.items():
        lines += family(name, text, {labels: value(*found) for labels, found in entries.items()})
    more = {
        (*labels, ("figure", name), ("unit", unit)): value
        for labels, (_, entry) in entries.items()
        for name, unit, value in derived(entry)
    }
    marks = {(*labels, ("mark", mark)): 1.0 for labels, found in entries.items() if (mark := sign(*found))}
    lines += family("marked", "The figure has this mark, which says how sure it is.", marks)
    lines += family("further", "Another figure of the same samples, in its unit (GB = 1e9 bytes).", more)
    failed = {
        (*_labels(run, "", failure.path, "", failure.bytes), ("what", failure.what)): 1.0
        for run, failure in failures(runs)
    }
    lines += _health(runs)
    lines += family("failed", "A path, or one size of it, that gave no figure.", failed)
    return "".join(f"{line}\n" for line in lines)


def _health(runs: Sequence[Run]) -> list[str]:
    """What hosts counted around each path: 0 where they count and there was nothing."""
    errors: dict[Labels, float | None] = {}
    held: dict[Labels, float | None] = {}
    for run in runs:
        for path, records in grouped((health.path, health) for health in run.health.values()).items():
            record = reduce(with_earlier, records)
            labels = _labels(run, "", path, "", None)
            for what in dict.fromkeys([*record.counted, *(error.what for error in record.errors)]):
                count = sum(error.count for error in record.errors if error.what == what)
                errors |= {(*labels, ("what", what)): count}
            if record.watched:
                held[labels] = float(bool(record.throttled))
    return [
        *family("new_errors", "Errors that the hosts' counters rose by around a path's figures.", errors),
        *family("throttled", "1: something held clocks back around a path's figures.", held),
    ]


def _labels(run: Run, pattern: str, path: str, memory: str, size: int | None) -> Labels:
    return (
        ("pattern", pattern or pattern_of(run)),
        ("path", path),
        ("memory", memory),
        ("bytes", "" if size is None else str(size)),
        ("host", host(run)),
        ("gpu", gpu(run, path)),
        ("mpi", mpi(run, path)),
        ("options", conditions(run)),
    )


def family(name: str, text: str, values: Mapping[Labels, float | None]) -> list[str]:
    """The lines of one metric: its help, its type, and a line for each value that is known."""
    name = f"wirespeed_{name}"
    lines = [
        f"{name}{{{_text(labels)}}} {_number(value)}" for labels, value in values.items() if value is not None
    ]
    return [f"# HELP {name} {text}", f"# TYPE {name} gauge", *lines] if lines else []


def _text(labels: Labels) -> str:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return ",".join(f'{name}="{value.translate(escapes)}"' for name, value in labels)


def _number(value: float) -> str:
    """Every digit; whole numbers without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
