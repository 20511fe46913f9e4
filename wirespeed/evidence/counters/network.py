"""Network interfaces: bytes that the kernel sent and received over each, headers included, from sysfs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.counters import Reading, Wire, Witness, counter_in, text_of

FOLDER = Path("/sys/class/net")
LOOPBACK = "772"
"""ARPHRD_LOOPBACK, the interface's type (linux/if_arp.h)."""


class Interfaces(Witness):
    """Interfaces that are up, the loopback one too."""

    def __init__(self, interfaces: Sequence[Path]) -> None:
        self._interfaces = interfaces
        self.wires = tuple(_wire(interface) for interface in interfaces)

    def read(self) -> list[Reading]:
        return [
            Reading(counter_in(one / "statistics/tx_bytes"), counter_in(one / "statistics/rx_bytes"))
            for one in self._interfaces
        ]


def _wire(interface: Path) -> Wire:
    """`speed` is in Mbit/s; 0 or -1 where the driver has none to tell."""
    speed, mtu = text_of(interface / "speed"), text_of(interface / "mtu")
    # What a virtual interface says of its speed is made up: nothing in it keeps to that.
    virtual = not (interface / "device").exists()
    known = speed.isdecimal() and int(speed) > 0 and not virtual
    # Other people's traffic comes in packets: one more or less is what the counters leave open.
    packet = int(mtu) if mtu.isdecimal() else 1500
    return Wire(
        "loopback" if text_of(interface / "type") == LOOPBACK else "network",
        interface.name,
        granularity=packet,
        rate=int(speed) * 1e6 / 8 if known else None,
        facts={"mtu": int(mtu)} if mtu.isdecimal() else {},
    )


def _carries(interface: Path) -> bool:
    """Is it up, and does it not only pass on what another one carries, as a bridge or a bond does?"""
    up = text_of(interface / "operstate") in ("up", "unknown")
    return up and not (interface / "bridge").exists() and not (interface / "bonding").exists()


def find(devices: Sequence[Mapping[str, Any]], folder: Path = FOLDER) -> Witness | None:
    """None where this process sees no interface."""
    interfaces = [one for one in sorted(folder.glob("*")) if _carries(one)]
    return Interfaces(interfaces) if interfaces else None
