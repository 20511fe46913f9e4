"""AMD's GPUs: replays on PCIe, and errors of memory and links that the driver's RAS counts, from sysfs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.health import HealthReading, HealthSource, Place, number_in

FOLDER = Path("/sys/bus/pci/devices")
REPLAYS = "pcie_replay_count"
BLOCKS = {"umc": "ECC errors", "xgmi_wafl": "xGMI errors"}
"""ras/*_err_count, with a line 'ue: 0' and a line 'ce: 0' (the kernel's Documentation/gpu/amdgpu/ras.rst)."""
KINDS = {"ue": "uncorrected", "ce": "corrected"}


class Amd(HealthSource):
    """The GPUs' folders in sysfs."""

    def __init__(self, folders: Mapping[Place, Path]) -> None:
        self._folders = folders

    def read(self, into: HealthReading) -> None:
        for place, folder in self._folders.items():
            if (replays := number_in(folder / REPLAYS)) is not None:
                into.errors[place, "PCIe replays"] = replays
            for block, what in BLOCKS.items():
                for kind, count in _counts(folder / "ras" / f"{block}_err_count").items():
                    into.errors[place, f"{KINDS[kind]} {what}"] = count


def _counts(file: Path) -> dict[str, int]:
    """Of 'ue: 0' and 'ce: 3'; empty where the driver keeps no count."""
    try:
        text = file.read_text()
    except OSError:
        return {}
    return {kind: int(count) for kind, count in re.findall(r"^(ue|ce):\s*(\d+)", text, re.MULTILINE)}


def find(
    devices: Sequence[Mapping[str, Any]], several_hosts: bool, folder: Path = FOLDER
) -> HealthSource | None:
    """None where there is no AMD GPU."""
    folders = {
        f"GPU {device['index']}": folder / str(device["pci"])
        for device in devices
        if device.get("kind") == "hip" and device.get("pci")
    }
    return Amd(folders) if folders else None
