"""The equations: from the rates of the wires that were used to the ceiling of a figure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wirespeed.limits import rates
from wirespeed.limits.rates import Ceiling
from wirespeed.limits.summing import point_to_point
from wirespeed.limits.wires import PORTS
from wirespeed.transports import find_transport
from wirespeed.units import format_rate

Record = dict[str, Any]

PAIRWISE = ("pingpong", "exchange", "stream", "blocks", "pairs", "pairing")
COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce")
"""Their figure is the bus bandwidth: bytes that a rank must send, to all others together."""
FAN = "fan"
"""One rank and all others, as 'pairs --fan' measures it."""
OUT_OF_A_RANK = ("ring", "halo", FAN, *COLLECTIVES)
"""Patterns whose figure is the bytes that one rank sends, to all others together."""


@dataclass(frozen=True)
class Used:
    """The records of one job step from which a ceiling follows."""

    pattern: str
    step: Record
    width: int = 1
    """Number of ranks that send: a group's size, a stream's pairs, 1 for a pair."""
    wires: Sequence[Record] = ()
    """Wires as the hosts' drivers describe them; some rates may be stated by the user."""
    evidence: Record = field(default_factory=dict)
    """Evidence record of the bytes' way; empty: not counted."""
    both_ways: bool = False
    """True if the figure is that of copies inside a rank in both directions together."""
    by_library: bool = False
    """True if one call of a library does the whole operation, by an algorithm of its own."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the ranks."""
    copies: Mapping[str, float] = field(default_factory=dict)
    """Bytes per second of the fastest copy by one rank alone, `to_device` and `to_host`, where measured."""

    @property
    def ranks(self) -> list[Record]:
        return [rank for rank in self.step.get("ranks") or () if isinstance(rank, dict)]

    @property
    def hosts(self) -> list[str]:
        return list(dict.fromkeys(str(rank.get("host")) for rank in self.ranks))

    @property
    def devices(self) -> list[Record]:
        """Each rank's GPU; empty if one has none."""
        found = [rank.get("device") for rank in self.ranks]
        return [record for record in found if isinstance(record, dict)] if all(found) else []

    @property
    def model(self) -> str | None:
        """The name of all GPUs; None where they differ. A slice's name is no GPU's."""
        names = {str(device.get("name")) for device in self.devices}
        return names.pop() if len(names) == 1 else None

    @property
    def device_name(self) -> str | None:
        """The name of all GPUs; None where they differ, or where ranks share one, or slices of one."""
        places = zip(self.ranks, self.devices, strict=False)
        boards = {(rank.get("host"), str(record.get("pci") or record.get("id"))) for rank, record in places}
        return self.model if len(boards) == len(self.ranks) else None

    @property
    def may_sum_in_switches(self) -> bool:
        """True if a switch may do a part of the sums: fewer bytes than the bus bandwidth's pass each link.

        Two ranks send each other all that they have, whoever sums. What the other operations count leaves
        or enters a GPU in any case.
        """
        summed = self.by_library and self.pattern == "allreduce" and len(self.ranks) > 2
        return summed and not point_to_point(str(self.step.get("transport")), self.variables)

    @property
    def staged(self) -> bool:
        """True where the bytes went through host memory: by the counters, else by the path's transport."""
        verdict = self.evidence.get("verdict")
        if verdict in ("direct", "staged", "pcie"):
            return bool(verdict != "direct")
        # With GPUDirect switched off no copy is direct.
        return bool(self.step.get("without")) or find_transport(self.step.get("transport")).through_host

    def facts(self, kind: str, key: str) -> int | None:
        """The lowest value that the drivers give for wires of this kind."""
        said = [int(wire[key]) for wire in self.wires if wire.get("kind") == kind and wire.get(key)]
        return min(said, default=None)

    def stated(self, kind: str) -> Ceiling | None:
        """The rate that the user has stated for wires of this kind."""
        for wire in self.wires:
            if wire.get("kind") == kind and wire.get("stated"):
                text = f"{wire['rate'] / 1e9:g} GB/s, stated"
                return Ceiling(float(wire["rate"]), text, "stated with --link", kind, stated=True)
        return None


def ceiling(used: Used) -> Ceiling | None:
    """The highest possible figure; None where the wires, or the traffic on them, are not known."""
    if used.step.get("transport") == "copy":
        return _copies(used)
    if used.pattern not in (*PAIRWISE, *OUT_OF_A_RANK, "groups") or not used.ranks:
        return None
    if len(used.hosts) > 1:
        return _between_hosts(used)
    ends = used.step.get("memory"), used.step.get("into") or used.step.get("memory")
    if used.pattern == FAN and (used.staged or ends != ("device", "device")):
        # The copies of one rank and of many overlap, and how is not known.
        return None
    if ends == ("device", "device"):
        return _staged(used) if used.staged else _between_gpus(used)
    if "device" in ends:
        slot = used.device_name and _slot(used, to_device=ends[1] == "device")
        return _times(used.width, slot, "between a GPU and its host") if slot else None
    return _in_memory(used)


def field_ceiling(used: Used) -> Ceiling | None:
    """The rate of a GPU's own memory, through which a program's field passes in every step."""
    return rates.memory(used.model) if used.model else None


def _between_gpus(used: Used) -> Ceiling | None:
    name = used.device_name
    if name is None:
        return None
    known = rates.device_links(name)
    kind = str(known["kind"]) if known else "nvlink"
    if (mesh := _mesh(used, kind)) is not None:
        return _in_a_mesh(used, name, kind, mesh)
    links = used.stated(kind) or rates.gpu_links(name, used.facts(kind, "links"))
    if links is None or (used.may_sum_in_switches and rates.switch_may_sum(name)):
        return None
    if used.pattern in PAIRWISE and used.width > 1:
        return _times(used.width, links, "out of the senders, if all of a GPU's links lead to its receiver")
    if used.pattern in PAIRWISE:
        return replace(links, equation=f"{links.equation}, if all of these links lead to the other GPU")
    if used.pattern in OUT_OF_A_RANK:
        return replace(links, equation=f"{links.equation} out of a GPU, if every GPU reaches every other")
    return _times(used.width, links, "out of a group, if every GPU reaches every other")


def _mesh(used: Used, kind: str) -> int | None:
    """Links from each GPU to each other one, the least of all pairs; None where a switch joins them."""
    links = [wire for wire in used.wires if wire.get("kind") == kind and isinstance(wire.get("ends"), dict)]
    if ends := {wire.get("device"): wire["ends"] for wire in links if wire["ends"]}:
        pci = {str(device.get("id")): str(device.get("pci")) for device in used.devices}
        pairs = itertools.permutations(pci, 2)
        return min(int(ends.get(name, {}).get(pci[other], 0)) for name, other in pairs)
    known = rates.device_links(used.device_name or "")
    return int(known["pair"]) if known and "pair" in known else None


def _in_a_mesh(used: Used, name: str, kind: str, links: int) -> Ceiling | None:
    """Each pair of GPUs has links of its own, and a message to another GPU can take no others."""
    wires = used.stated(kind) or rates.gpu_links(name, links)
    if wires is None or not links or used.pattern == "halo":
        return None
    if used.pattern in PAIRWISE and used.width > 1:
        return _times(used.width, wires, "out of the senders, each pair of GPUs over links of its own")
    if used.pattern in (*PAIRWISE, "ring"):
        return replace(wires, equation=f"{wires.equation} from one GPU to the next")
    peers = len(used.ranks) // used.width - 1
    if used.pattern in (FAN, *COLLECTIVES):
        return _times(peers, wires, "out of a GPU, over the links to each of its peers")
    how = f"out of a group: each of its {used.width} to {peers} other GPUs over links of their own"
    return _times(used.width * peers, wires, how)


def _staged(used: Used) -> Ceiling | None:
    """1/b = 1/b_D2H + 1/b_H2D where one copy follows the other; the slower of both where they overlap."""
    down, up = _slot(used, to_device=False), _slot(used, to_device=True)
    if down is None or up is None:
        return None
    if not find_transport(used.step.get("transport")).serial:
        # A library may overlap them, whether it says so or not.
        return _times(used.width, min(down, up, key=lambda rate: rate.rate), "both copies at once")
    value = 1 / (1 / down.rate + 1 / up.rate)
    rates_ = f"{format_rate(down.rate)} and {format_rate(up.rate)} GB/s ({down.equation.split(',')[0]})"
    how = f"one copy after the other: 1/b = 1/b_D2H + 1/b_H2D of {rates_}"
    return _times(used.width, replace(down, rate=value, equation=f"b = {format_rate(value)} GB/s"), how)


def _slot(used: Used, *, to_device: bool) -> Ceiling | None:
    """By the driver's description of the slot, else by the slot that the GPU is made for."""
    if stated := used.stated("pcie"):
        return stated
    generation, width = used.facts("pcie", "generation"), used.facts("pcie", "width")
    if not (generation and width) and used.model and (slot := rates.slot_of(used.model)):
        generation, width = slot
    if generation and width:
        return rates.pcie(generation, width, to_device=to_device)
    way = "to_device" if to_device else "to_host"
    declared = [float(wire["rates"][way]) for wire in used.wires if wire.get("rates", {}).get(way)]
    for rate, how, source, high in (
        (min(declared, default=0.0), "declared", "the emulated GPU's declaration", 0.0),
        # A faster message shows that the copy was slow, and is no less possible.
        (used.copies.get(way, 0.0), "measured", "the fastest copy in this file", math.inf),
    ):
        if rate:
            return Ceiling(rate, f"{rate / 1e9:.4g} GB/s, {how}", source, "pcie", high=high)
    return None


def _copies(used: Used) -> Ceiling | None:
    """Of one rank's copies inside itself, from `memory` into `into`."""
    memory, into = used.step.get("memory"), used.step.get("into") or used.step.get("memory")
    if not used.devices:
        return None
    if memory == into == "device":
        if not (memory_rate := used.model and rates.memory(used.model)):
            return None
        half = memory_rate.rate / 2
        how = f"{memory_rate.equation} / 2, each byte is read and written = {half / 1e9:g} GB/s"
        return replace(memory_rate, rate=half, equation=how)
    crosses = "device" in (memory, into) and "managed" not in (memory, into)
    if not crosses:
        return None
    if used.both_ways:
        slower = [ceiling for to_device in (False, True) if (ceiling := _slot(used, to_device=to_device))]
        return (
            _times(2, min(slower, key=lambda ceiling: ceiling.rate), "both ways at once") if slower else None
        )
    return _slot(used, to_device=into == "device")


def _between_hosts(used: Used) -> Ceiling | None:
    """The ports that the bytes travelled over: of each host together, and the slowest host."""
    per_host = len(used.ranks) // len(used.hosts)
    whole_hosts = used.pattern in ("groups", "stream") and used.width == per_host
    if used.evidence.get("verdict") not in ("network", "staged") or not (per_host == 1 or whole_hosts):
        return None
    known = [ceiling for host in used.hosts if (ceiling := _of_host(used, host))]
    if len(known) < len(used.hosts):
        return None
    least = min(known, key=lambda ceiling: ceiling.rate)
    shared = f", shared by {used.width} pairs" * (used.pattern == "stream" and used.width > 1)
    least = replace(least, equation=least.equation + shared)
    ends = used.step.get("memory"), used.step.get("into") or used.step.get("memory")
    return _staged_over(used, least) if used.staged and ends == ("device", "device") else least


def _staged_over(used: Used, network: Ceiling) -> Ceiling:
    """1/b = 1/b_D2H + 1/b_net + 1/b_H2D where each part waits for the one before; else the slowest part.

    The GPUs of a host copy at the same time, and its ports carry what all of them send.
    """
    down, up = _slot(used, to_device=False), _slot(used, to_device=True)
    if down is None or up is None:
        return network
    parts = [_times(used.width, down, "copied"), network, _times(used.width, up, "copied")]
    if not find_transport(used.step.get("transport")).serial:
        return min(parts, key=lambda part: part.rate)
    value = 1 / sum(1 / part.rate for part in parts)
    rates_ = ", ".join(f"{part.rate / 1e9:.4g}" for part in parts)
    how = f"one after the other: 1/b = 1/b_D2H + 1/b_net + 1/b_H2D of {rates_} GB/s"
    equation = f"b = {value / 1e9:.4g} GB/s, {how} ({down.equation.split(',')[0]}; {network.equation})"
    source, high = f"{network.source}; {down.source}", max(part.high for part in parts)
    return replace(network, rate=value, equation=equation, source=source, high=high)


def _of_host(used: Used, host: str) -> Ceiling | None:
    """The payload rate of its busy ports."""
    busy = [
        wire
        for wire in used.evidence.get("wires") or ()
        if wire["kind"] in PORTS and wire["host"] == host and _moved(wire) > 0.1 * _expected(wire)
    ]
    if used.may_sum_in_switches and any(wire["kind"] == "infiniband" for wire in busy):
        return None
    described = {wire.get("name"): wire for wire in used.wires if wire.get("host") == host}
    ports = [described.get(wire["name"], {}) for wire in busy]
    if not busy or not all(port.get("rate") for port in ports):
        return None
    payload = min(1.0, max(map(_expected, busy)) / sum(map(_moved, busy)))
    parts = [(port, _tcp_payload(port) if port["kind"] == "network" else payload) for port in ports]
    total = sum(float(port["rate"]) * share for port, share in parts)
    sums = " + ".join(
        f"{port['name']} {float(port['rate']) / 1e9:g} GB/s x {share:.3f} payload" for port, share in parts
    )
    stated = any(port.get("stated") for port in ports)
    source = "rate stated with --link" if stated else "rate as the driver states it"
    return Ceiling(total, f"{sums} = {total / 1e9:.4g} GB/s out of {host}", source, "network", stated)


def _moved(wire: Record) -> int:
    return int(wire["sent"]) + int(wire["received"])


def _expected(wire: Record) -> int:
    return int(wire["expected_sent"]) + int(wire["expected_received"])


TCP_HEADERS, ETHERNET_HEADER, ETHERNET_FRAME = 52, 14, 24
"""Bytes per packet: IP, TCP and its time stamp; Ethernet; checksum, preamble and gap on a real wire."""


def _tcp_payload(port: Record) -> float:
    """The share of an interface's rate that is payload, in full TCP packets.

    The counters do not show it: segments are split, and get headers, after they are counted.
    """
    mtu = int(port.get("mtu") or 0)
    if mtu <= TCP_HEADERS:
        return 1.0
    frame = 0 if port.get("stated") else ETHERNET_FRAME
    return (mtu - TCP_HEADERS) / (mtu + ETHERNET_HEADER + frame)


def _in_memory(used: Used) -> Ceiling | None:
    """Between two ranks of one host: each byte is read from memory once, and written to it once.

    A core on either side: one copy after the other, or both at once through a cache that they share.
    """
    if len(used.ranks) != 2:
        return None
    if used.evidence.get("verdict") == "loopback":
        return used.stated("loopback")
    known = (wire for wire in used.wires if wire.get("kind") == "memory" and wire.get("rate"))
    measured = sorted(known, key=lambda record: float(record["rate"]))
    if used.evidence.get("verdict") != "shared memory" or not measured:
        return None
    cached = max(int(record.get("caches") or rates.CPU_CACHES) for record in measured)
    if stated := used.stated("memory"):
        return replace(stated, equation=f"copies in memory = {stated.equation}", cached=cached)
    middle = measured[len(measured) // 2]
    rate = float(middle["rate"])
    ends = [
        float(record[name]) for record in measured for name in ("low", "rate", "high") if record.get(name)
    ]
    low, high = (min(ends), max(ends)) if len(ends) > 1 else (0.0, 0.0)
    text = f"one core {middle.get('slower', 'copying from memory to memory')} = {rate / 1e9:.1f} GB/s"
    text += f" ({low / 1e9:.1f} to {high / 1e9:.1f})" if low else ""
    source = "measured here before the counted iterations, with buffers beyond the caches"
    return Ceiling(rate, text, source, "memory", low=low, high=high, cached=cached)


def _times(width: int, ceiling: Ceiling, how: str) -> Ceiling:
    total = width * ceiling.rate
    text = (
        f"{width} x {ceiling.equation.split(' = ')[0]} = {total / 1e9:.4g} GB/s"
        if width > 1
        else ceiling.equation
    )
    text += f" {how}" if how.startswith("out") else f", {how}"
    return replace(ceiling, rate=total, equation=text)
