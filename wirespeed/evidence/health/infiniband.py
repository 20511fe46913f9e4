"""InfiniBand and RoCE: errors that each port's adapter counts, from sysfs; read in jobs of several hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wirespeed.evidence.health import HealthSource, sysfs_errors

FOLDER = Path("/sys/class/infiniband")
NAMES = {
    "counters/symbol_error": "symbol errors",
    "counters/link_error_recovery": "link recoveries",
    "counters/link_downed": "failures of the link",
    "counters/port_rcv_errors": "receive errors",
    "counters/local_link_integrity_errors": "link integrity errors",
    "counters/port_xmit_discards": "discarded packets",
    "hw_counters/packet_seq_err": "packets asked for again",
    "hw_counters/local_ack_timeout_err": "timeouts of acknowledgements",
}
"""The kernel's Documentation/ABI/stable/sysfs-class-infiniband, and for hw_counters the mlx5 driver's."""


def find(
    devices: Sequence[Mapping[str, Any]], several_hosts: bool, folder: Path = FOLDER
) -> HealthSource | None:
    """None within one host, and where there is no port."""
    if not several_hosts:
        return None
    ports = {f"{port.parent.parent.name} port {port.name}": port for port in sorted(folder.glob("*/ports/*"))}
    return sysfs_errors(ports, NAMES)
