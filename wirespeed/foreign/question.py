"""Options that say more than the text, and what follows for a curve's wire."""

from __future__ import annotations

from dataclasses import dataclass, field

from wirespeed.foreign.shapes import Curve, Log
from wirespeed.judge.series import is_wrong
from wirespeed.limits.rates import Ceiling, gpu_links, gpu_names, pcie, slot_of, switch_may_sum
from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.systems import load
from wirespeed.systems.reference import Reference, kinds, usual

_LATENCY_BYTES = 8
USUAL_SIZES = {"nvbandwidth": 512 << 20, "p2pBandwidthLatencyTest": 160_000_000}
"""Bytes that a tool copies unless it is told otherwise, of those that do not print them."""
_NAMES = {kind: wire.name for kind, wire in WIRE_KINDS.items()}
_OF_ONE_WIRE = ("pingpong", "bandwidth", "both-ways", "sendrecv", "exchange", "rma", "copy")
_COPIES = {"H D": "host-device", "D H": "device-host"}


@dataclass(frozen=True)
class Question:
    """Options of the command."""

    links: dict[str, float] = field(default_factory=dict)
    """Name -> bytes per second of one direction."""
    gpu: str = ""
    system: str = ""


@dataclass(frozen=True)
class CurveWire:
    """The wire that a curve's bytes travel over."""

    name: str
    rate: float
    """Bytes per second in one direction."""
    words: str
    """Source of the rate."""
    sums: bool = True
    """May switches on it form a part of an all-reduce's sums?"""


def wire_of(curve: Curve, log: Log, question: Question) -> CurveWire | None:
    """None where neither the text nor the options tell. Raises WirespeedError for an unknown system."""
    if curve.operation.startswith("local"):
        return None
    if question.links:
        name, rate = next(iter(question.links.items()))
        return CurveWire(name, rate, "as you say")
    name, between_hosts = gpu_of(log, question), (curve.hosts or 0) > 1
    if question.system and (ceiling := _of_system(curve, question.system)):
        return CurveWire(_NAMES.get(ceiling.wire, question.system), ceiling.rate, ceiling.equation)
    staged = "P2P=Disabled" in curve.name
    if not between_hosts and not staged and name and (ceiling := _of_gpu(curve, name)):
        kind = _NAMES.get(ceiling.wire, ceiling.wire)
        return CurveWire(kind, ceiling.rate, ceiling.equation, switch_may_sum(name))
    rates = {port["rate"] for port in log.topology.get("ports", ()) if port.get("rate")}
    if len(rates) == 1 and curve.memory != "H D" and _on_network(curve, between_hosts):
        return CurveWire(
            "network", (rate := rates.pop()), f"its ports run at {rate * 8 / 1e9:g} Gb/s, by the text"
        )
    return None


def _on_network(curve: Curve, between_hosts: bool) -> bool:
    return between_hosts or curve.tool == "perftest"


def gpu_of(log: Log, question: Question) -> str:
    """The GPU's name; '' where it is not said, or where there are several."""
    models = set(log.topology.get("models", ()))
    if question.gpu:
        return _driver_name(question.gpu, models)
    return models.pop() if len(models) == 1 else ""


def named(gpu: str) -> list[str]:
    """Kinds of GPU that are called so; empty: nothing is known of such a one."""
    found = sorted(kind.name for kind in kinds().values() if kind.machines and kind.is_called(gpu))
    return found or [gpu] * (gpu in gpu_names())


def _driver_name(given: str, models: set[str]) -> str:
    """What the driver calls a GPU that is given as 'H200': the text's own, or the only one of this kind; else
    as it is given."""
    own = [kind for kind in kinds().values() if kind.is_called(given)]
    for names in (models, gpu_names()):
        found = {name for name in names if any(kind.is_called(name) for kind in own)}
        if len(found) == 1:
            return found.pop()
    return given


def _of_gpu(curve: Curve, name: str) -> Ceiling | None:
    if curve.memory in _COPIES and curve.operation == "copy":
        slot = slot_of(name)
        return pcie(*slot, to_device=curve.memory == "H D") if slot else None
    if curve.hosts == 1 and "D" in curve.memory:
        return gpu_links(name)
    return None


def _of_system(curve: Curve, name: str) -> Ceiling | None:
    system = load(name)
    if curve.memory in _COPIES and curve.operation == "copy":
        return None
    if curve.hosts != 1 and system.network and system.network.nic_rate:
        rate = system.network.nic_rate
        words = f"a NIC of {system.name}: {rate / 1e9:g} GB/s"
        return Ceiling(rate, words, system.network.source, "network")
    return (
        gpu_links(system.node.driver_names[0]) if system.node.driver_names and "D" in curve.memory else None
    )


def limit_of(curve: Curve, wire: CurveWire | None) -> float | None:
    """The most that this curve's rate can be over the wire; None where no simple rule says so."""
    if wire is None or not wire.rate or curve.direction == "algorithm":
        return None
    if curve.direction != "bus" and curve.operation not in _OF_ONE_WIRE:
        return None
    return wire.rate * (2 if curve.direction == "both" else 1)


def reference_of(curve: Curve, wire: CurveWire | None, log: Log, question: Question) -> Reference | None:
    """Figures of others on such a machine; None where nobody did, or where the machine is not known."""
    usual_size = USUAL_SIZES.get(curve.tool, 0)
    points = [
        point if point.bytes > 0 else point._replace(bytes=usual_size)
        for point in curve.points
        if (point.bytes > 0 or usual_size) and not is_wrong(point)
    ]
    if not points or curve.direction == "both" or "at once" in curve.placement:
        return None
    machine, name = gpu_of(log, question) or None, wire.name if wire else None
    if curve.operation == "all-reduce" and curve.direction == "bus" and curve.hosts == 1:
        # The fastest size that others measured.
        rated = sorted(((point.rate, point.bytes) for point in points if point.rate), reverse=True)
        found = (
            usual(machine, name, "allreduce-node", size, rate, ranks=curve.ranks) for rate, size in rated
        )
        return next(filter(None, found), None)
    if curve.operation == "copy" and curve.memory in _COPIES:
        best = points[-1]
        return usual(machine, "PCIe", _COPIES[curve.memory], best.bytes, best.rate or 0)
    if curve.operation == "bandwidth":
        best = points[-1]
        network = usual(machine, name, "network-bandwidth", best.bytes, best.rate or 0)
        if network or curve.memory != "D D":
            return network
    direct = curve.memory == "D D" and curve.hosts == 1 and "P2P=Disabled" not in curve.name
    if curve.operation in ("bandwidth", "copy") and direct:
        best = points[-1]
        return usual(machine, name, "device-device", best.bytes, best.rate or 0)
    if curve.operation == "pingpong":
        small = next((point for point in points if point.bytes == _LATENCY_BYTES and point.seconds), None)
        if small and small.seconds:
            return usual(machine, name, "network-latency", small.bytes, small.bytes / small.seconds)
    return None
