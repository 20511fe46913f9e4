"""The doctor's tables: what is known of variables, of MPIs and of hangs, each entry with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from wirespeed.toml import parse

TableRow = Mapping[str, Any]


@cache
def table(name: str) -> tuple[TableRow, ...]:
    """Entries of wirespeed/doctor/NAME.toml."""
    (entries,) = parse(files(__package__).joinpath(f"{name}.toml").read_text("utf-8")).values()
    return tuple(entries)


def switches_of(vendor: str) -> TableRow:
    """An MPI's switches for GPU support; empty for an MPI that is not in the table."""
    return next((one for one in table("mpi_switches") if one["vendor"] == vendor), {})
