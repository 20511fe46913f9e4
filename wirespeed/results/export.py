"""Entries as tables: CSV, numpy arrays and a DataFrame, one column a member, the unit in its name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.model import Entry

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
_TEXTS = {"run", "pattern", "path", "memory", "stopped", "at", "definition", "impossible"}
_WHOLE = {"step", "launches", "bytes", "bandwidth_bytes", "samples", "batches", "iterations"}
_WHOLE |= {"iterations_per_sample", "checked_iterations", "checked_batches", "checked_bytes"}


def to_csv(entries: Iterable[Entry]) -> str:
    """With a head line; times and rates to full precision, empty where there is no value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in map(attrgetter(*COLUMNS.values()), entries):
        writer.writerow([_harmless(value) if isinstance(value, str) else value for value in row])
    return text.getvalue()


def _harmless(text: str) -> str:
    """The text, behind a quote where a spreadsheet would take it for a formula: files come from others."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


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
    for column, member in COLUMNS.items():
        values = list(map(attrgetter(member), entries))
        whole = column in _WHOLE and None not in values
        arrays[column] = np.array(values, np.str_ if column in _TEXTS else np.int64 if whole else np.float64)
    return arrays
