"""RDMA adapters: ports that are down, narrow or slow, locked memory, and no way to GPU memory."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts, Nic, Port
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.shell import quoted

FULL_WIDTH = 4
"""Lanes of an InfiniBand port; RoCE ports of 25 and 50 Gb/s have fewer by design."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """Ports, locked memory, and the way to GPU memory."""
    ports = [(nic, port) for nic in facts.nics for port in nic.ports]
    active = [(nic, port) for nic, port in ports if port.state == "ACTIVE"]
    yield from _down(ports)
    yield from _narrow(active)
    yield from _slow(active)
    if facts.nics:
        yield from _memlock(facts)
        yield from _gpudirect(facts)


def _name(nic: Nic, port: Port) -> str:
    return f"{nic.name}:{port.number}"


def _down(ports: list[tuple[Nic, Port]]) -> Iterator[Finding]:
    """An unused second port is usual: one that is down counts where identical ones are up, or none is."""
    down = [(nic, port) for nic, port in ports if port.state and port.state != "ACTIVE"]
    if not down:
        return
    every = len(down) == len(ports)
    names = ", ".join(_name(*pair) for pair in down[:8])
    first = quoted(down[0][0].name)
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
                (f"ibstat {quoted(nic.name)}  # then reseat or change the cable", "iblinkinfo -l"),
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
                f"{_name(nic, port)} runs at {port.rate:g} Gb/s, an identical one at {best[nic.model]:g}",
                Cost.SOME,
                (f"both are {nic.model}",),
                (f"ibstat {quoted(nic.name)}  # cable or switch port of a lower rate?",),
                source="sysfs: infiniband/*/ports/*/rate",
            )


def _memlock(facts: MachineFacts) -> Iterator[Finding]:
    """RDMA pins what it sends."""
    limit = facts.limits.memlock
    if limit is None:
        return
    yield Finding(
        "memlock",
        "Locked memory is limited: RDMA cannot register large buffers",
        Cost.BREAKS if limit < 1 << 20 else Cost.HIGH,
        (f"RLIMIT_MEMLOCK: {limit >> 10} KiB (ulimit -l)", f"RDMA adapters: {facts.nic_names}"),
        (
            "ulimit -l unlimited",
            "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/rdma.conf  # new logins",
            "# Slurm: PropagateResourceLimitsExcept=MEMLOCK, and LimitMEMLOCK=infinity for slurmd",
        ),
        source="https://docs.open-mpi.org/en/v5.0.8/tuning-apps/networking/ib-and-roce.html",
    )


def _gpudirect(facts: MachineFacts) -> Iterator[Finding]:
    """Where there are NVIDIA GPUs, and no way from the adapters to their memory."""
    if not any(gpu.kind == "cuda" for gpu in facts.real_gpus):
        return
    if facts.gpudirect.dmabuf or {"nvidia_peermem", "nv_peer_mem"} & set(facts.gpudirect.modules):
        return
    yield Finding(
        "gpudirect-rdma",
        "No GPUDirect RDMA: GPU data for other hosts goes through host memory",
        Cost.HIGH,
        (
            f"RDMA adapters: {facts.nic_names}",
            "neither nvidia_peermem nor nv_peer_mem is loaded",
            f"DMA-BUF: {facts.gpudirect.why or 'not available'}",
        ),
        (
            "sudo modprobe nvidia_peermem  # comes with the driver since R470",
            "echo nvidia_peermem | sudo tee /etc/modules-load.d/nvidia-peermem.conf  # at each start",
        ),
        source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
    )
