"""Network interfaces: bytes that the kernel sent and received over each, headers included, from sysfs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.counters import CounterSource, SysfsCounters, Wire, text_of

FOLDER = Path("/sys/class/net")
LOOPBACK = "772"
"""ARPHRD_LOOPBACK, the interface's type (linux/if_arp.h)."""


def _wire(interface: Path) -> Wire:
    """`speed` is in Mbit/s; 0 or -1 where the driver states none."""
    speed, mtu = text_of(interface / "speed"), text_of(interface / "mtu")
    # A virtual interface states a made-up speed, which nothing enforces.
    virtual = not (interface / "device").exists()
    known = speed.isdecimal() and int(speed) > 0 and not virtual
    # Other traffic comes in packets: the counters are uncertain by one packet.
    packet = int(mtu) if mtu.isdecimal() else 1500
    return Wire(
        "loopback" if text_of(interface / "type") == LOOPBACK else "network",
        interface.name,
        granularity=packet,
        rate=int(speed) * 1e6 / 8 if known else None,
        facts={"mtu": int(mtu)} if mtu.isdecimal() else {},
    )


def _carries(interface: Path) -> bool:
    """Whether it is up, and not a bridge or bond, whose traffic its members count too."""
    up = text_of(interface / "operstate") in ("up", "unknown")
    return up and not (interface / "bridge").exists() and not (interface / "bonding").exists()


def find(devices: Sequence[Mapping[str, Any]], folder: Path = FOLDER) -> CounterSource | None:
    """None where this process sees no interface."""
    wires = {one: _wire(one) for one in sorted(folder.glob("*")) if _carries(one)}
    return SysfsCounters(wires, "statistics/tx_bytes", "statistics/rx_bytes") if wires else None
