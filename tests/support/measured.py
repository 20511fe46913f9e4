"""The measured files in results/, as parameters of tests."""

from __future__ import annotations

import gzip
from collections.abc import Collection
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

RESULTS = Path(__file__).parents[2] / "results"
KINDS = ("h200-x4-pairs", "h200-x2-lbm", "h200-x2-large", "h200-x2-survey", "h200-x4-groups")
"""Of each shape of table one."""


def name_of(file: Path) -> str:
    """Its name without what says that it is a packed result file."""
    return file.name.removesuffix(".gz").removesuffix(".jsonl")


def result(name: str) -> Path:
    """The file of results/ with this name, packed or not: "h200-x2-survey", "eight/h200-x8-pairs"."""
    (file,) = RESULTS.glob(f"{name}.jsonl*")
    return file


def lines(file: Path) -> list[str]:
    """Its records, unpacked."""
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode().splitlines()


def measured(pattern: str = "**/*.jsonl*", always: Collection[str] = KINDS) -> list[ParameterSet]:
    """Each file by its name; slow but for the first of each folder and those named `always`."""
    folders: set[Path] = set()
    files = []
    for file in sorted(RESULTS.glob(pattern)):
        quick = file.parent not in folders or name_of(file) in always
        folders.add(file.parent)
        marks = () if quick else pytest.mark.slow
        files.append(pytest.param(file, id=name_of(file), marks=marks))
    return files
