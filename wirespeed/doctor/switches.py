"""mpi_switches.toml as values: each MPI's switch for GPU support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from wirespeed.toml import parse


@dataclass(frozen=True)
class Switches:
    """What one MPI needs to take device pointers, and how it is asked."""

    vendor: str
    name: str
    on: Mapping[str, str]
    note: str
    ask: str
    yes: str
    source: str
    symbol: str = ""
    launch: str = ""
    direct_off: Mapping[str, str] = field(default_factory=dict)
    rdma_off: Mapping[str, str] = field(default_factory=dict)

    def exports(self) -> tuple[str, ...]:
        """Shell lines that switch it on."""
        return tuple(f"export {name}={value}" for name, value in self.on.items())


@cache
def all_switches() -> tuple[Switches, ...]:
    table = parse(files("wirespeed.doctor").joinpath("mpi_switches.toml").read_text("utf-8"))
    return tuple(Switches(**one) for one in table["mpi"])


def of(vendor: str) -> Switches | None:
    """None for an MPI that is not in the table."""
    return next((one for one in all_switches() if one.vendor == vendor), None)
