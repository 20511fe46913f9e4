"""Ports of RDMA adapters that are down, narrow, or slower than their twins."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Facts, Nic, Port
from wirespeed.doctor.finding import Cost, Finding

FULL_WIDTH = 4
"""Lanes of an InfiniBand port; RoCE ports of 25 and 50 Gb/s have fewer by design."""


def find(facts: Facts) -> Iterator[Finding]:
    """An unused second port is usual: one that is down counts where its twins are up, or none is."""
    ports = [(nic, port) for nic in facts.nics for port in nic.ports]
    active = [(nic, port) for nic, port in ports if port.state == "ACTIVE"]
    yield from _down(ports)
    yield from _narrow(active)
    yield from _slow(active)


def _name(nic: Nic, port: Port) -> str:
    return f"{nic.name}:{port.number}"


def _down(ports: list[tuple[Nic, Port]]) -> Iterator[Finding]:
    down = [(nic, port) for nic, port in ports if port.state and port.state != "ACTIVE"]
    if not down:
        return
    every = len(down) == len(ports)
    names = ", ".join(_name(*one) for one in down[:8])
    first = down[0][0].name
    yield Finding(
        "nic-down",
        "Every RDMA port is down" if every else f"RDMA ports are down: {names}",
        Cost.HIGH if every else Cost.SOME,
        tuple(f"{_name(nic, port)}: {port.state} ({port.layer})" for nic, port in down[:8]),
        (
            f"ibstat {first}  # LinkUp and Initializing: a subnet manager is missing (opensm)",
            f"rdma link show  # which interface belongs to {first}; ip link set IFACE up",
        ),
        source="sysfs: infiniband/*/ports/*/state",
    )


def _narrow(active: list[tuple[Nic, Port]]) -> Iterator[Finding]:
    for nic, port in active:
        if port.layer == "InfiniBand" and (port.lanes or FULL_WIDTH) < FULL_WIDTH:
            rate = f"{_name(nic, port)}: {port.rate:g} Gb/s ({port.lanes}X)" if port.rate else "rate unknown"
            yield Finding(
                "nic-narrow",
                f"{_name(nic, port)} runs with {port.lanes} of {FULL_WIDTH} lanes",
                Cost.HIGH,
                (rate,),
                (f"ibstat {nic.name}  # then reseat or change the cable", "iblinkinfo -l"),
                source="sysfs: infiniband/*/ports/*/rate",
            )


def _slow(active: list[tuple[Nic, Port]]) -> Iterator[Finding]:
    """Ports of one model that run slower than another one of it."""
    best: dict[str, float] = {}
    for nic, port in active:
        best[nic.model] = max(best.get(nic.model, 0.0), port.rate or 0.0)
    for nic, port in active:
        full = (port.lanes or FULL_WIDTH) >= FULL_WIDTH
        if port.rate and nic.model and port.rate < best[nic.model] and full:
            yield Finding(
                "nic-slow",
                f"{_name(nic, port)} runs at {port.rate:g} Gb/s, its twin at {best[nic.model]:g}",
                Cost.SOME,
                (f"both are {nic.model}",),
                (f"ibstat {nic.name}  # cable or switch port of a lower rate?",),
                source="sysfs: infiniband/*/ports/*/rate",
            )
