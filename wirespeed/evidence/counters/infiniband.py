"""InfiniBand and RoCE: bytes that each port's adapter sent and received, from sysfs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.counters import CounterOwner, CounterSource, SysfsCounters, pci_fact, text_of

FOLDER = Path("/sys/class/infiniband")
UNIT = 4
"""port_xmit_data and port_rcv_data count in words of four bytes (the kernel's Documentation/ABI/stable/
sysfs-class-infiniband)."""


def _wire(port: Path) -> CounterOwner:
    """`rate` reads '400 Gb/sec (4X NDR)': bits of data per second and direction."""
    said = text_of(port / "rate")
    number = re.match(r"([\d.]+) Gb/sec", said)
    ethernet = text_of(port / "link_layer") == "Ethernet"
    return CounterOwner(
        "roce" if ethernet else "infiniband",
        f"{port.parent.parent.name} port {port.name}",
        granularity=UNIT,
        rate=float(number[1]) * 1e9 / 8 if number else None,
        facts={"said": said, **pci_fact(port.parent.parent)},
    )


def find(devices: Sequence[Mapping[str, Any]], folder: Path = FOLDER) -> CounterSource | None:
    """None where no port is up."""
    up = [port for port in sorted(folder.glob("*/ports/*")) if "ACTIVE" in text_of(port / "state")]
    wires = {port: _wire(port) for port in up}
    return SysfsCounters(wires, "counters/port_xmit_data", "counters/port_rcv_data", UNIT) if up else None
