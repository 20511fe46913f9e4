"""The doctor's own tables: tunings and remedies of hangs, each entry with its source."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from wirespeed.host.variables import TableRow
from wirespeed.toml import parse


@cache
def table(name: str) -> tuple[TableRow, ...]:
    """Entries of wirespeed/doctor/NAME.toml."""
    (entries,) = parse(files(__package__).joinpath(f"{name}.toml").read_text("utf-8")).values()
    return tuple(entries)
