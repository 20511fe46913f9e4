"""Published machines: what their nodes are made of, what must be set, where it stands. One TOML file each.

A new one is found by being there; its file's name is what `--system` takes.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wirespeed.errors import WirespeedError
from wirespeed.systems.model import System
from wirespeed.systems.reading import read

__all__ = ["FOLDER", "Point", "System", "all_systems", "load", "load_curves", "names"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class CurvePoint:
    """One size of a published curve."""

    seconds: float
    gib_per_second: float

    @property
    def rate(self) -> float:
        """Bytes per second, from the bandwidth as published."""
        return self.gib_per_second * 2**30


def names(folder: Path | None = None) -> list[str]:
    """Names that `--system` takes."""
    return sorted(path.stem for path in (folder or FOLDER).glob("*.toml"))


def load(name: str, folder: Path | None = None) -> System:
    """The system of that name, large or small. Raises WirespeedError that lists those there are."""
    known = names(folder)
    if name.lower() not in known:
        from difflib import get_close_matches

        close = get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise WirespeedError(f"--system {name}: there is no such system; {hint}there are: {', '.join(known)}")
    return _read((folder or FOLDER) / f"{name.lower()}.toml")


@cache
def _read(file: Path) -> System:
    return read(file.read_bytes(), file.name)


def all_systems(folder: Path | None = None) -> dict[str, System]:
    """Every system, by what `--system` takes."""
    return {name: load(name, folder) for name in names(folder)}


def load_curves(system: System, folder: Path | None = None) -> dict[str, dict[int, CurvePoint]]:
    """Path -> size in bytes -> point, under our names of the paths; empty where nothing was published."""
    found: dict[str, dict[int, CurvePoint]] = {}
    if system.curves is None:
        return found
    with ((folder or FOLDER) / system.curves.file).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            curve = found.setdefault(system.curves.paths.get(row["path"], row["path"]), {})
            curve[int(row["bytes"])] = CurvePoint(float(row["seconds_one_way"]), float(row["GiB_per_s"]))
    return found
