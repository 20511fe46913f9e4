"""The doctor's own tables: tunings and remedies of hangs, each entry with its source."""

from __future__ import annotations

from wirespeed.host.variables import TableRow
from wirespeed.toml import beside


def table(name: str) -> tuple[TableRow, ...]:
    """Entries of wirespeed/doctor/NAME.toml."""
    (entries,) = beside(__file__, f"{name}.toml").values()
    return tuple(entries)
