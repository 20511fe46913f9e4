"""Network interfaces: errors and lost packets that the kernel counts; read in jobs of several hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.counters.network import of_another_namespace
from wirespeed.evidence.health import HealthSource, sysfs_errors

FOLDER = Path("/sys/class/net")
NAMES = {
    "statistics/rx_errors": "receive errors",
    "statistics/tx_errors": "send errors",
    "statistics/rx_missed_errors": "packets lost for lack of buffers",
    "statistics/tx_dropped": "packets dropped before they were sent",
}
"""The kernel's Documentation/networking/statistics.rst. rx_dropped is left out: it also counts packets of
protocols that nobody here listens to."""


def find(
    devices: Sequence[Mapping[str, Any]], several_hosts: bool, folder: Path = FOLDER
) -> HealthSource | None:
    """None within one host; interfaces without hardware, whose packets others count, are left out."""
    if not several_hosts or of_another_namespace(folder):
        return None
    cards = {file.name: file for file in sorted(folder.glob("*")) if (file / "device").exists()}
    return sysfs_errors(cards, NAMES)
