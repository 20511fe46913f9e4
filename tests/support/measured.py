"""The measured files in results/, as parameters of tests."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

RESULTS = Path(__file__).parents[2] / "results"
KINDS = ("h200-x4-pairs", "h200-x2-lbm", "h200-x2-large", "h200-x2-survey", "h200-x4-groups")
"""Of each shape of table one."""


def measured(pattern: str = "**/*.jsonl", always: Collection[str] = KINDS) -> list[ParameterSet]:
    """Each file by its name; `thorough` but for the first of each folder and those named `always`."""
    folders: set[Path] = set()
    files = []
    for file in sorted(RESULTS.glob(pattern)):
        quick = file.parent not in folders or file.stem in always
        folders.add(file.parent)
        marks = () if quick else pytest.mark.thorough
        files.append(pytest.param(file, id=file.stem, marks=marks))
    return files
