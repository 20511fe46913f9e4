"""The CPU: how often heat held its clocks back, from sysfs; the kernel counts it on Intel's alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.health import HealthReading, HealthSource, number_in

FOLDER = Path("/sys/devices/system/cpu")
COUNTERS = {
    "core_throttle_count": ("the heat of a core", ("physical_package_id", "core_id")),
    "package_throttle_count": ("the heat of a package", ("physical_package_id",)),
}
"""File (the kernel's drivers/thermal/intel/therm_throt.c) -> reason, and what CPUs that count the same
events have in common, as files of their `topology`."""


class CpuHealth(HealthSource):
    """The counters of all cores and packages of the host."""

    def __init__(self, folder: Path) -> None:
        cpus = sorted(folder.glob("cpu[0-9]*/thermal_throttle"))
        self._files: dict[str, list[Path]] = {}
        for name, (reason, unit) in COUNTERS.items():
            first = {tuple(number_in(cpu.parent / "topology" / word) for word in unit): cpu for cpu in cpus}
            self._files[reason] = [cpu / name for cpu in first.values()]

    def read(self, into: HealthReading) -> None:
        for reason, files in self._files.items():
            counts = [count for file in files if (count := number_in(file)) is not None]
            if counts:
                into.held_times["CPU", reason] = sum(counts)


def find(
    devices: Sequence[Mapping[str, Any]], several_hosts: bool, folder: Path = FOLDER
) -> HealthSource | None:
    """None where the kernel does not count it."""
    return CpuHealth(folder) if any(folder.glob("cpu[0-9]*/thermal_throttle")) else None
