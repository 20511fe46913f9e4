"""A result file in Python: `wirespeed.load("wirespeed-....jsonl")`."""

from __future__ import annotations

import os

from wirespeed.results.store import Results, read


def load(file: str | os.PathLike[str]) -> Results:
    """The runs, steps, entries and failures of a result file; `.table()` gives numpy arrays,
    `.frame()` a pandas DataFrame.

    Damaged lines are left out and named in `.warnings`. Raises WirespeedError for what is no result file.
    """
    return read(file)
