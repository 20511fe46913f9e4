"""Figures of runs as tables: CSV, numpy arrays and a DataFrame; units are in the names of the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.results import by_rank
from wirespeed.results.by_rank import TOGETHER
from wirespeed.results.model import Entry
from wirespeed.results.runs import Run

if TYPE_CHECKING:
    from numpy import ndarray

_PLACE = ("run", "step", "pattern", "path", "memory", "bytes", "bandwidth_bytes")
_TIMES = ("median", "low", "high", "min", "max", "p99", "mean")
_SAMPLES = (
    "launches",
    "confidence",
    "precision",
    "samples",
    "batches",
    "iterations_per_sample",
    "iterations",
    "stopped",
)
Value = str | int | float | None
COLUMNS = {
    **{name: name for name in _PLACE},
    **{f"{name}_s": f"times.{name}" for name in _TIMES},
    "bandwidth_Bps": "bytes_per_second.median",
    "bandwidth_low_Bps": "bytes_per_second.low",
    "bandwidth_high_Bps": "bytes_per_second.high",
    "baseline_s": "baseline_s",
    **{name: name for name in _SAMPLES},
    "checked_iterations": "checked.iterations",
    "checked_batches": "checked.batches",
    "checked_bytes": "checked.bytes",
    **{name: name for name in ("waited", "elapsed_s", "at", "definition")},
    "impossible": "why_impossible",
}
"""Column: the entry's attribute. _s: seconds, _Bps: bytes per second."""
_OF_RUN: dict[str, Callable[[Run, Entry], Value]] = {
    "ranks": lambda run, entry: len(run.step(entry.path).ranks) or run.head.plan.ranks or None,
    "hosts": lambda run, entry: len({rank.host for rank in run.step(entry.path).ranks}) or None,
    "mpi": lambda run, entry: _mpi(run, entry.path),
    "slowed": lambda run, _: run.slowed,
}
"""Conditions of a figure that its entry does not hold. `slowed`: by what load, on purpose."""
_TEXTS = {"run", "pattern", "path", "memory", "stopped", "at", "definition", "impossible", "mpi", "slowed"}
_WHOLE = {
    "step",
    "launches",
    "bytes",
    "bandwidth_bytes",
    "samples",
    "batches",
    "iterations",
    "ranks",
    "hosts",
}
_WHOLE |= {"iterations_per_sample", "checked_iterations", "checked_batches", "checked_bytes"}
_IF_CHANGED = ("device", "between", "ranks_per_gpu", "launcher", "allocator", "context")
"""Of the plan; in a column where a run does not have the default."""


def _columns(runs: Sequence[Run]) -> dict[str, Callable[[Run, Entry], Value]]:
    """COLUMNS, what the figures were measured with, the patterns' options, and further figures of the
    same samples.
    """
    plans, default = [run.head.plan for run in runs], Plan()
    changed = [name for name in _IF_CHANGED if any(_of(plan, name) != _of(default, name) for plan in plans)]
    options = dict.fromkeys(name for run in runs for name in run.options)
    derived = dict.fromkeys(
        (figure.name, figure.unit)
        for run in runs
        for entry in run.figures.values()
        for figure in entry.derived
    )
    found: dict[str, Callable[[Run, Entry], Value]] = {
        **{name: partial(_member, attrgetter(member)) for name, member in COLUMNS.items()},
        **_OF_RUN,
        **{name: partial(_planned, name) for name in changed},
        **{name: partial(_option, name) for name in options},
    }
    if any(run.traits.timing.alone_too for run in runs):
        found |= {"rank": _of_rank, "others_copy": _others_copy}
    if any(run.traits.shown.counts_copies for run in runs):
        for kind, way in (("host_to_device", "to_device"), ("device_to_host", "from_device")):
            found[f"copies_{way}"] = partial(_copies, kind)
            found[f"setup_copies_{way}"] = partial(_copies, f"setup_{kind}")
    for name, unit in derived:
        factor = 1e9 if unit == "GB/s" else 1.0
        found[figure_word(name, "B/s" if unit == "GB/s" else unit)] = partial(_derived, name, unit, factor)
    return found


def figure_word(name: str, unit: str) -> str:
    """Name of a further figure, without blanks: both_ways_GBps, a_step_s, messages_each_way_per_s."""
    thing, _, per = unit.partition("/")
    if per and name.startswith(thing):
        unit = f"/{per}"
    return f"{name}_{unit}".replace("_/", "/").replace("B/s", "Bps").replace("/", "_per_").replace(" ", "_")


def _member(get: Callable[[Entry], Value], _: Run, entry: Entry) -> Value:
    return get(entry)


def _of_rank(_: Run, entry: Entry) -> int | None:
    """None of the figure of all ranks, which is the slowest one's."""
    return entry.teams[0].first if len(entry.teams) == 1 else None


def _others_copy(_: Run, entry: Entry) -> str:
    """Do other ranks copy at the same time?"""
    if len(entry.teams) != 1:
        return ""
    return "yes" if entry.teams[0].name.endswith(TOGETHER) else "no"


def _copies(kind: str, run: Run, entry: Entry) -> int | None:
    """By the rank with most."""
    seen = run.evidence.get((entry.path, entry.bytes))
    return max(seen.copies_of(kind)) if seen and seen.copies else None


def _of(plan: Plan, name: str) -> str:
    value = getattr(plan, name)
    return _words("+".join(map(str, value)) if isinstance(value, tuple) else value)


def _planned(name: str, run: Run, _: Entry) -> str:
    return _of(run.head.plan, name)


def _mpi(run: Run, path: str) -> str:
    mpi = run.step(path).mpi
    return _words(f"{mpi.vendor} {mpi.version}") if mpi else ""


def _option(name: str, run: Run, _: Entry) -> Value:
    value = run.options.get(name)
    return value if type(value) is int else _words(value)


def _derived(name: str, unit: str, factor: float, _: Run, entry: Entry) -> float | None:
    same = (figure.median for figure in entry.derived if (figure.name, figure.unit) == (name, unit))
    median = next(same, None)
    return None if median is None else median * factor


def _words(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _rows(runs: Sequence[Run]) -> list[tuple[Run, Entry]]:
    figures = ((run, entry) for run in runs for entry in run.figures.values())
    return [(run, row) for run, entry in figures for row in (entry, *by_rank.entries(entry))]


def to_csv(runs: Sequence[Run]) -> str:
    """With a head line; times and rates to full precision, empty where there is no value."""
    text, columns = io.StringIO(), _columns(runs)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for run, entry in _rows(runs):
        values = (value_of(run, entry) for value_of in columns.values())
        writer.writerow([_harmless(value) if isinstance(value, str) else value for value in values])
    return text.getvalue()


def _harmless(text: str) -> str:
    """The text, behind a quote where a spreadsheet would take it for a formula: files come from others."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def to_frame(runs: Sequence[Run]) -> Any:
    """A pandas DataFrame of the same columns. Raises WirespeedError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise WirespeedError(
            "a DataFrame needs pandas, which is not installed: pip install pandas, or use .table()",
            ExitCode.UNAVAILABLE,
        ) from None
    return pandas.DataFrame(to_arrays(runs))


def to_arrays(runs: Sequence[Run]) -> dict[str, ndarray[Any, Any]]:
    """Numpy arrays: text, int64, or float64; NaN where an entry has no number, '' where no text."""
    import numpy as np

    arrays: dict[str, ndarray[Any, Any]] = {}
    rows = _rows(runs)
    for column, value_of in _columns(runs).items():
        values = [value_of(run, entry) for run, entry in rows]
        is_text = column in _TEXTS or any(isinstance(value, str) for value in values)
        whole = all(type(value) is int for value in values) if values else column in _WHOLE
        arrays[column] = np.array(values, np.str_ if is_text else np.int64 if whole else np.float64)
    return arrays
