"""Entries as tables: CSV, JSON, and numpy arrays, one column a member, the unit in its name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.model import Entry

if TYPE_CHECKING:
    from numpy import ndarray

COLUMNS = {
    "run": "run",
    "step": "step",
    "pattern": "pattern",
    "path": "path",
    "memory": "memory",
    "bytes": "bytes",
    "bandwidth_bytes": "bandwidth_bytes",
    "median_s": "times.median",
    "low_s": "times.low",
    "high_s": "times.high",
    "min_s": "times.min",
    "max_s": "times.max",
    "p99_s": "times.p99",
    "mean_s": "times.mean",
    "bandwidth_Bps": "bytes_per_second.median",
    "bandwidth_low_Bps": "bytes_per_second.low",
    "bandwidth_high_Bps": "bytes_per_second.high",
    "confidence": "confidence",
    "precision": "precision",
    "samples": "samples",
    "batches": "batches",
    "iterations_per_sample": "iterations_per_sample",
    "iterations": "iterations",
    "stopped": "stopped",
    "checked_iterations": "checked.iterations",
    "checked_bytes": "checked.bytes",
    "elapsed_s": "elapsed_s",
    "at": "at",
    "definition": "definition",
}
"""Column: the entry's attribute. _s: seconds, _Bps: bytes per second."""
_TEXTS = {"run", "pattern", "path", "memory", "stopped", "at", "definition"}
_WHOLE = {"step", "bytes", "bandwidth_bytes", "samples", "batches", "iterations"}
_WHOLE |= {"iterations_per_sample", "checked_iterations", "checked_bytes"}


def _value(entry: Entry, column: str) -> Any:
    return attrgetter(COLUMNS[column])(entry)


def rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Each entry as a flat dictionary of all COLUMNS; None for what it does not say."""
    return [{column: _value(entry, column) for column in COLUMNS} for entry in entries]


def to_csv(entries: Iterable[Entry]) -> str:
    """With a head line; times and rates to full precision, empty where there is no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(entries))
    return text.getvalue()


def to_json(entries: Iterable[Entry]) -> str:
    """An array of objects with the same names as the CSV's columns."""
    return json.dumps(rows(entries), indent=1) + "\n"


def to_frame(entries: Sequence[Entry]) -> Any:
    """A pandas DataFrame of the same columns. Raises WirespeedError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise WirespeedError(
            "a DataFrame needs pandas, which is not installed: pip install pandas, or use .table()",
            ExitCode.UNAVAILABLE,
        ) from None
    return pandas.DataFrame(to_arrays(entries))


def to_arrays(entries: Sequence[Entry]) -> dict[str, ndarray[Any, Any]]:
    """Numpy arrays: text, int64, or float64; NaN where an entry has no number, '' where no text."""
    import numpy as np

    arrays: dict[str, ndarray[Any, Any]] = {}
    for column in COLUMNS:
        values = [_value(entry, column) for entry in entries]
        if column in _TEXTS:
            texts = ["" if value is None else str(value) for value in values]
            arrays[column] = np.array(texts, dtype=np.str_)
            continue
        if column in _WHOLE and None not in values:
            arrays[column] = np.array(values, dtype=np.int64)
        else:
            floats = [float("nan") if value is None else float(value) for value in values]
            arrays[column] = np.array(floats, dtype=np.float64)
    return arrays
