"""Published machines: what their nodes are made of, what must be set, where it stands. One TOML file each.

A new one is found by being there; its file's name is what `--system` takes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from wirespeed.errors import WirespeedError
from wirespeed.systems.model import System
from wirespeed.systems.reading import read

__all__ = ["FOLDER", "System", "all_systems", "load", "names"]

FOLDER = Path(__file__).parent


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
    return read(file.read_bytes(), file.name, System)


def all_systems(folder: Path | None = None) -> dict[str, System]:
    """Every system, by what `--system` takes."""
    return {name: load(name, folder) for name in names(folder)}
