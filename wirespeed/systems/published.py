"""Figures that others published about these machines: systems/published.csv, each line with its source."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirespeed import systems
from wirespeed.errors import WirespeedError

DIRECTIONS = {"one way": 1, "out of a group": 1, "out of a group and into it": 2}
"""Beginning of a figure's definition -> number of directions that it adds up."""
COLUMNS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("system", "pattern", "path"), str),
    "group": lambda word: int(word or 0),
    **dict.fromkeys(("ranks", "bytes"), int),
    "GB/s": float,
    **dict.fromkeys(("definition", "source"), str),
}
"""Reader of each column of the file, in the order of PublishedFigure's members."""


@dataclass(frozen=True)
class PublishedFigure:
    """One published figure."""

    system: str
    pattern: str
    path: str
    group: int
    """Ranks in a group; 0: the pattern has none."""
    ranks: int
    bytes: int
    published: float
    """GB/s as published, 1e9 bytes per second."""
    definition: str
    source: str

    @property
    def rate(self) -> float:
        """Bytes per second, of one direction."""
        return self.published * 1e9 / DIRECTIONS[self.definition.split(":")[0]]


def load_published(folder: Path | None = None) -> list[PublishedFigure]:
    """Every line. Raises WirespeedError that names the line which cannot be read."""
    file = (folder or systems.FOLDER) / "published.csv"
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if list(reader.fieldnames or ()) != list(COLUMNS):
            raise WirespeedError(f"{file.name}: the columns are {','.join(COLUMNS)}")
        return [_figure(row, f"{file.name}, line {number}") for number, row in enumerate(reader, 2)]


def _figure(row: dict[str, str], where: str) -> PublishedFigure:
    try:
        figure = PublishedFigure(*(read(row[name]) for name, read in COLUMNS.items()))
    except (TypeError, ValueError) as error:
        raise WirespeedError(f"{where}: {error}") from None
    if figure.definition.split(":")[0] not in DIRECTIONS:
        raise WirespeedError(f"{where}: a definition begins with one of {', '.join(DIRECTIONS)}, and ':'")
    if "https://" not in figure.source:
        raise WirespeedError(f"{where}: write where the figure stands, with its https:// address")
    return figure
