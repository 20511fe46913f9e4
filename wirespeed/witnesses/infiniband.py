"""InfiniBand and RoCE: bytes that each port's adapter sent and received, from sysfs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.witnesses import CannotRead, Reading, Wire, Witness

FOLDER = Path("/sys/class/infiniband")
UNIT = 4
"""port_xmit_data and port_rcv_data count in words of four bytes (the kernel's Documentation/ABI/stable/
sysfs-class-infiniband)."""


class Ports(Witness):
    """Ports that are up."""

    def __init__(self, ports: Sequence[Path]) -> None:
        self._ports = ports
        self.wires = tuple(_wire(port) for port in ports)

    def read(self) -> list[Reading]:
        return [
            Reading(_number(port / "counters/port_xmit_data"), _number(port / "counters/port_rcv_data"))
            for port in self._ports
        ]


def _number(file: Path) -> int:
    try:
        return int(file.read_text()) * UNIT
    except (OSError, ValueError) as error:
        raise CannotRead(f"{file}: {error}") from None


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _wire(port: Path) -> Wire:
    """`rate` reads '400 Gb/sec (4X NDR)': bits of data per second and direction."""
    said = _text(port / "rate")
    number = re.match(r"([\d.]+) Gb/sec", said)
    ethernet = _text(port / "link_layer") == "Ethernet"
    return Wire(
        "roce" if ethernet else "infiniband",
        f"{port.parent.parent.name} port {port.name}",
        granularity=UNIT,
        rate=float(number[1]) * 1e9 / 8 if number else None,
        facts={"said": said},
    )


def find(devices: Sequence[Mapping[str, Any]], folder: Path = FOLDER) -> Witness | None:
    """None where no port is up."""
    up = [port for port in sorted(folder.glob("*/ports/*")) if "ACTIVE" in _text(port / "state")]
    return Ports(up) if up else None
