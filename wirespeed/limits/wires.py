"""The kinds of wires: one table for evidence, limits and the report page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WireKind:
    """Ends of a kind of wire. Its counters are those of one end."""

    name: str
    """As it is printed."""
    of_host: bool
    """The end is a host, else a GPU."""
    between_gpus: bool = False
    """It joins GPUs without passing through the host."""
    port: bool = False
    """It leads to other hosts, so its rate limits what leaves a host."""


WIRE_KINDS = {
    "nvlink": WireKind("NVLink", of_host=False, between_gpus=True),
    "xgmi": WireKind("xGMI", of_host=False, between_gpus=True),
    "pcie": WireKind("PCIe", of_host=False),
    "infiniband": WireKind("InfiniBand", of_host=True, port=True),
    "roce": WireKind("RoCE", of_host=True, port=True),
    "network": WireKind("network", of_host=True, port=True),
    "loopback": WireKind("TCP on the loopback interface", of_host=True),
}
GPU_LINKS = tuple(kind for kind, wire_kind in WIRE_KINDS.items() if wire_kind.between_gpus)
NETWORKS = tuple(kind for kind, wire_kind in WIRE_KINDS.items() if wire_kind.of_host)
PORTS = tuple(kind for kind, wire_kind in WIRE_KINDS.items() if wire_kind.port)
