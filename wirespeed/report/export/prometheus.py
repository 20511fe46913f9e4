"""Figures for Prometheus: a file for node_exporter's textfile collector, in base units.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from wirespeed.report.export.labels import conditions, failures, figures, host
from wirespeed.report.export.labels import pattern as pattern_of
from wirespeed.results.runs import Entry, Run

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Metric:
    """One name, what it means, and how an entry gives its value (None: it has none)."""

    name: str
    help: str
    value: Callable[[Run, Entry], float | None]


def _known(entry: Entry, seconds: float) -> float | None:
    return None if entry.precision is None else seconds


def _rate(entry: Entry, seconds: float) -> float | None:
    return entry.amount / seconds if entry.amount else None


def _times(run: Run) -> dict[tuple[str, int], float]:
    """When each figure was measured, as its record says; Unix time."""
    found = {}
    for entry in run.entries.values():
        with suppress(ValueError):
            found[entry.path, entry.bytes] = datetime.fromisoformat(entry.at).timestamp()
    return found


def _limit(run: Run, entry: Entry) -> float | None:
    found = run.ceiling(entry.path)
    return found.rate if found else None


METRICS = (
    Metric(
        "wirespeed_time_seconds",
        "Median time; of a ping-pong one way, else as the definition in the result file says.",
        lambda _, entry: entry.seconds,
    ),
    Metric(
        "wirespeed_time_low_seconds",
        "Lower end of the median's 95 % interval.",
        lambda _, entry: _known(entry, entry.low),
    ),
    Metric(
        "wirespeed_time_high_seconds",
        "Upper end of the median's 95 % interval.",
        lambda _, entry: _known(entry, entry.high),
    ),
    Metric(
        "wirespeed_bandwidth_bytes_per_second",
        "Bytes over the median time.",
        lambda _, entry: _rate(entry, entry.seconds),
    ),
    Metric("wirespeed_limit_bytes_per_second", "What the wires under this path can carry.", _limit),
    Metric("wirespeed_samples", "Samples behind the median.", lambda _, entry: entry.samples),
)
WHEN, FAILED = "wirespeed_measured_timestamp_seconds", "wirespeed_failed"


def to_prometheus(runs: Sequence[Run]) -> str:
    """Every figure once: of several with the same labels the last one counts, as the collector demands."""
    entries: dict[Labels, tuple[Run, Entry]] = {}
    for run, entry in figures(runs):
        labels = _labels(run, entry.pattern, entry.path, entry.memory, str(entry.bytes))
        entries[labels] = (run, entry)
    lines: list[str] = []
    for metric in METRICS:
        values = [(labels, metric.value(run, entry)) for labels, (run, entry) in entries.items()]
        known = [(labels, value) for labels, value in values if value is not None]
        lines += _family(metric.name, metric.help, known)
    when = {id(run): _times(run) for run in runs}
    times = [
        (labels, when[id(run)].get((entry.path, entry.bytes))) for labels, (run, entry) in entries.items()
    ]
    known = [(labels, time) for labels, time in times if time is not None]
    lines += _family(WHEN, "When it was measured, as Unix time.", known)
    failed = {
        (
            *_labels(run, "", failure.path, "", "" if failure.bytes is None else str(failure.bytes)),
            ("what", failure.what),
        ): 1.0
        for run, failure in failures(runs)
    }
    lines += _family(FAILED, "A path, or one size of it, that gave no figure.", failed.items())
    return "".join(f"{line}\n" for line in lines)


def _labels(run: Run, pattern: str, path: str, memory: str, size: str) -> Labels:
    return (
        ("pattern", pattern or pattern_of(run)),
        ("path", path),
        ("memory", memory),
        ("bytes", size),
        ("host", host(run)),
        ("options", conditions(run)),
    )


def _family(name: str, text: str, values: Iterable[tuple[Labels, float]]) -> list[str]:
    lines = [f"{name}{{{_text(labels)}}} {_number(value)}" for labels, value in values]
    return [f"# HELP {name} {text}", f"# TYPE {name} gauge", *lines] if lines else []


def _text(labels: Labels) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    """Every digit; whole numbers without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
