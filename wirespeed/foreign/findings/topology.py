"""Findings about a host's wires: NVLinks that are down, slow ports, GPUs below one PCIe switch."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.foreign.findings.told import told
from wirespeed.foreign.findings.transports import active_ports
from wirespeed.foreign.shapes import Finding, Log
from wirespeed.units import counted

SHARED = ("PIX", "PXB")
"""Links whose two ends share the way to the CPU."""


def find(log: Log) -> Iterator[Finding]:
    """Findings by nvidia-smi, ibstat and ibstatus."""
    yield from _uplinks(log)
    yield from _down(log)
    yield from _slow_ports(log)


def _uplinks(log: Log) -> Iterator[Finding]:
    links = {
        pair: link
        for pair, link in log.topology.get("links", {}).items()
        if all(name.startswith("GPU") for name in pair)
    }
    near = {name for pair, link in links.items() if link in SHARED for name in pair}
    if near and not any(link.startswith("NV") for link in links.values()):
        kinds = sorted(set(links.values()) & {*SHARED})
        far = sorted(set(links.values()) - {*SHARED, "N/A"})
        than = f", and may be slower than {' and '.join(far)} pairs" if far else ""
        words = " and ".join(kinds)
        seen = f"no NVLink; {counted(len(near), 'GPU')} share PCIe switches with others ({words})"
        yield told("uplink", 1, seen, kinds=words, than=than)


def _down(log: Log) -> Iterator[Finding]:
    links = log.topology.get("nvlink", {})
    down = {gpu: sum(not rate for rate in rates) for gpu, rates in links.items() if not all(rates)}
    # Where all are down, the machine may be used without them.
    if down and any(any(rates) for rates in links.values()):
        gpu, number = max(down.items(), key=lambda item: item[1])
        seen = f"NVLinks are down on {counted(len(down), 'GPU')}: {number} of {len(links[gpu])} on GPU {gpu}"
        yield told("nvlink-down", 2, seen)


def _slow_ports(log: Log) -> Iterator[Finding]:
    # Ethernet ports of a host often have other rates by design.
    ports = [
        (float(str(port["rate"])), port)
        for port in active_ports(log)
        if port.get("rate") and not str(port.get("layer", "")).lower().startswith("ethernet")
    ]
    fastest = max((rate for rate, _ in ports), default=0.0)
    slow = [(rate, port) for rate, port in ports if rate < fastest]
    for rate, port in slow[:1]:
        name = str(port["name"])
        words = f"{rate * 8 / 1e9:g} Gb/s, others at {fastest * 8 / 1e9:g} Gb/s"
        yield told("slow-port", 1, f"port {name}/{port['port']} runs at {words}", name=name)
