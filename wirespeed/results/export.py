"""Entries as tables: CSV, JSON, and numpy arrays, one column a member, the unit in its name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.record import Record

if TYPE_CHECKING:
    from numpy import ndarray

COLUMNS: dict[str, tuple[str, ...]] = {
    "run": ("run",),
    "step": ("step",),
    "pattern": ("pattern",),
    "path": ("path",),
    "memory": ("memory",),
    "bytes": ("bytes",),
    "moved_bytes": ("moved",),
    "median_s": ("seconds", "median"),
    "low_s": ("seconds", "low"),
    "high_s": ("seconds", "high"),
    "min_s": ("seconds", "min"),
    "max_s": ("seconds", "max"),
    "p99_s": ("seconds", "p99"),
    "mean_s": ("seconds", "mean"),
    "bandwidth_Bps": ("bytes_per_second", "median"),
    "bandwidth_low_Bps": ("bytes_per_second", "low"),
    "bandwidth_high_Bps": ("bytes_per_second", "high"),
    "confidence": ("confidence",),
    "precision": ("precision",),
    "samples": ("samples",),
    "batches": ("batches",),
    "rounds_per_sample": ("rounds_per_sample",),
    "rounds": ("rounds",),
    "stopped": ("stopped",),
    "checked_rounds": ("checked", "rounds"),
    "checked_bytes": ("checked", "bytes"),
    "elapsed_s": ("elapsed_s",),
    "at": ("at",),
    "definition": ("definition",),
}
"""Column: where it stands in an entry. _s: seconds, _Bps: bytes per second."""
_TEXTS = {"run", "pattern", "path", "memory", "stopped", "at", "definition"}
_WHOLE = {"step", "bytes", "moved_bytes", "samples", "batches", "rounds_per_sample", "rounds"}
_WHOLE |= {"checked_rounds", "checked_bytes"}


def _value(entry: Record, column: str) -> Any:
    """A column's value, or None."""
    value: Any = entry
    for name in COLUMNS[column]:
        value = value.get(name) if isinstance(value, dict) else None
    return None if isinstance(value, (dict, list)) else value


def rows(entries: Iterable[Record]) -> list[dict[str, Any]]:
    """Each entry as a flat dictionary of all COLUMNS; None for what it does not say."""
    return [{column: _value(entry, column) for column in COLUMNS} for entry in entries]


def to_csv(entries: Iterable[Record]) -> str:
    """With a head line; times and rates to full precision, empty where there is no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(entries))
    return text.getvalue()


def to_json(entries: Iterable[Record]) -> str:
    """An array of objects with the same names as the CSV's columns."""
    return json.dumps(rows(entries), indent=1) + "\n"


def to_frame(entries: Sequence[Record]) -> Any:
    """A pandas DataFrame of the same columns. Raises WirespeedError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise WirespeedError(
            "a DataFrame needs pandas, which is not installed: pip install pandas, or use .table()",
            ExitCode.UNAVAILABLE,
        ) from None
    return pandas.DataFrame(to_arrays(entries))


def to_arrays(entries: Sequence[Record]) -> dict[str, ndarray[Any, Any]]:
    """Numpy arrays: text, int64, or float64; NaN where an entry has no number, '' where no text."""
    import numpy as np

    arrays: dict[str, ndarray[Any, Any]] = {}
    for column in COLUMNS:
        values = [_value(entry, column) for entry in entries]
        if column in _TEXTS:
            texts = ["" if value is None else str(value) for value in values]
            arrays[column] = np.array(texts, dtype=np.str_)
            continue
        numbers = [value if isinstance(value, (int, float)) else None for value in values]
        if column in _WHOLE and all(isinstance(value, int) for value in numbers):
            arrays[column] = np.array(numbers, dtype=np.int64)
        else:
            floats = [float("nan") if value is None else float(value) for value in numbers]
            arrays[column] = np.array(floats, dtype=np.float64)
    return arrays
