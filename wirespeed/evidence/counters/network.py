"""Network interfaces: bytes that the kernel sent and received over each, headers included, from sysfs.

sysfs shows the network namespace in which it was mounted. A process that was put into another one (nsenter,
some containers) finds its own interfaces in /proc alone.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.counters import (
    CannotRead,
    CounterOwner,
    CounterSource,
    Reading,
    SysfsCounters,
    pci_fact,
    text_of,
)

FOLDER = Path("/sys/class/net")
TABLE = Path("/proc/self/net/dev")
_RECEIVED, _SENT = 0, 8
"""Columns of bytes in that table (net/core/net-procfs.c)."""
_PACKET = {"network": 1500, "loopback": 65536}
"""Bytes, where nothing tells."""
LOOPBACK = "772"
"""ARPHRD_LOOPBACK, the interface's type (linux/if_arp.h)."""


def _wire(interface: Path) -> CounterOwner:
    """`speed` is in Mbit/s; 0 or -1 where the driver states none."""
    speed, mtu = text_of(interface / "speed"), text_of(interface / "mtu")
    # A virtual interface states a made-up speed, which nothing enforces.
    virtual = not (interface / "device").exists()
    known = speed.isdecimal() and int(speed) > 0 and not virtual
    # Other traffic comes in packets: the counters are uncertain by one packet.
    packet = int(mtu) if mtu.isdecimal() else 1500
    return CounterOwner(
        "loopback" if text_of(interface / "type") == LOOPBACK else "network",
        interface.name,
        granularity=packet,
        rate=int(speed) * 1e6 / 8 if known else None,
        facts=({"mtu": int(mtu)} if mtu.isdecimal() else {}) | pci_fact(interface),
    )


def _carries(interface: Path) -> bool:
    """Whether it is up, and not a bridge or bond, whose traffic its members count too."""
    up = text_of(interface / "operstate") in ("up", "unknown")
    return up and not (interface / "bridge").exists() and not (interface / "bonding").exists()


class TableCounters(CounterSource):
    """Counters of this process' own network namespace, from the kernel's table."""

    def __init__(self, table: Path) -> None:
        self._table = table
        kinds = {name: "loopback" if name == "lo" else "network" for name in self._rows()}
        self.wires = tuple(
            CounterOwner(kind, name, granularity=_PACKET[kind]) for name, kind in kinds.items()
        )

    def read(self, parts: bool = True) -> list[Reading]:
        rows = self._rows()
        try:
            found = [rows[wire.name] for wire in self.wires]
            return [Reading(int(row[_SENT]), int(row[_RECEIVED])) for row in found]
        except (KeyError, ValueError, IndexError) as error:
            raise CannotRead(f"{self._table}: {error!r}") from None

    def _rows(self) -> dict[str, list[str]]:
        pairs = (line.partition(":") for line in self._table.read_text().splitlines() if ":" in line)
        return {name.strip(): row.split() for name, _, row in pairs}


def of_another_namespace(folder: Path) -> bool:
    """Does sysfs show interfaces that this process does not have?"""
    own = {name: index for index, name in socket.if_nameindex()}
    told = {file.name: text_of(file / "ifindex") for file in folder.glob("*")}
    return any(index.isdecimal() and own.get(name) != int(index) for name, index in told.items())


def find(
    devices: Sequence[Mapping[str, Any]], folder: Path = FOLDER, table: Path = TABLE
) -> CounterSource | None:
    """None where this process sees no interface."""
    if of_another_namespace(folder):
        return TableCounters(table)
    wires = {file: _wire(file) for file in sorted(folder.glob("*")) if _carries(file)}
    return SysfsCounters(wires, "statistics/tx_bytes", "statistics/rx_bytes") if wires else None
