"""The equations: from the rates of the wires that were used to the most that a figure can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wirespeed.limits import rates
from wirespeed.limits.rates import Rate

Record = dict[str, Any]

PAIRWISE = ("pingpong", "exchange", "stream", "pairs")
OUT_OF_A_RANK = ("ring", "halo")
"""Their figures are what one rank sends, to whomever."""
STAGED = ("staged", "pipelined")
"""Transports that go through host memory; all others on device memory may go straight."""
PORTS = ("infiniband", "roce", "network")


@dataclass(frozen=True)
class Ceiling:
    """Bytes per second, one way, and how they come about."""

    rate: float
    equation: str
    source: str
    wire: str = ""
    """Whose limit it is, as Rate names it."""
    stated: bool = False
    """By the user."""

    @staticmethod
    def of(rate: Rate, equation: str = "") -> Ceiling:
        return Ceiling(rate.value, equation or rate.text, rate.source, rate.wire, rate.stated)


@dataclass(frozen=True)
class Used:
    """Where a figure was measured, and over what: records of one job step."""

    pattern: str
    step: Record
    width: int = 1
    """Ranks that send out of what is measured: a group's, 1 for a pair."""
    wires: Sequence[Record] = ()
    """What the hosts' drivers say of their wires; rates that the user has stated among them."""
    evidence: Record = field(default_factory=dict)
    """Which of them carried the bytes; empty: nobody counted."""

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
        return [one for one in found if isinstance(one, dict)] if all(found) else []

    @property
    def device_name(self) -> str | None:
        """The name of all GPUs; None where they differ, or where ranks share one."""
        names = {str(one.get("name")) for one in self.devices}
        ids = {str(one.get("id")) for one in self.devices}
        return names.pop() if len(names) == 1 and len(ids) == len(self.ranks) else None

    @property
    def staged(self) -> bool:
        """Did the bytes go through host memory? By what was counted, else by what the path does."""
        verdict = self.evidence.get("verdict")
        if verdict in ("direct", "staged", "pcie"):
            return bool(verdict != "direct")
        # With GPUDirect switched off nothing goes straight.
        return bool(self.step.get("without")) or str(self.step.get("transport")).startswith(STAGED)

    def facts(self, kind: str, key: str) -> int | None:
        """The least that the drivers of the wires of this kind say."""
        said = [int(wire[key]) for wire in self.wires if wire.get("kind") == kind and wire.get(key)]
        return min(said, default=None)

    def stated(self, kind: str) -> Rate | None:
        """What the user has stated for wires of this kind."""
        for wire in self.wires:
            if wire.get("kind") == kind and wire.get("stated"):
                text = f"{wire['rate'] / 1e9:g} GB/s, stated"
                return Rate(float(wire["rate"]), text, "stated with --link", kind, stated=True)
        return None


def ceiling(used: Used) -> Ceiling | None:
    """The most that the figure can be; None where the wires, or what they carry, are not known."""
    if used.step.get("transport") == "copy":
        return _copies(used)
    if used.pattern not in (*PAIRWISE, *OUT_OF_A_RANK, "groups") or not used.ranks:
        return None
    if len(used.hosts) > 1:
        return _between_hosts(used)
    if used.step.get("memory") == "device":
        return _staged(used) if used.staged else _between_gpus(used)
    return _in_memory(used)


def _between_gpus(used: Used) -> Ceiling | None:
    name = used.device_name
    if name is None:
        return None
    known = rates.device_links(name)
    kind = str(known["kind"]) if known else "nvlink"
    mesh = _mesh(used, kind)
    if mesh is not None:
        return _in_a_mesh(used, name, kind, mesh)
    rate = used.stated(kind) or rates.gpu_links(name, used.facts(kind, "links"))
    if rate is None:
        return None
    if used.pattern in PAIRWISE:
        return Ceiling.of(rate, f"{rate.text}, if all of these links lead to the other GPU")
    if used.pattern in OUT_OF_A_RANK:
        return Ceiling.of(rate, f"{rate.text} out of a GPU, if every GPU reaches every other")
    return _times(used.width, rate, "out of a group, if every GPU reaches every other")


def _mesh(used: Used, kind: str) -> int | None:
    """Links from each GPU to each other one, the least of all pairs; None where a switch joins them."""
    ends = {
        wire.get("device"): wire["ends"]
        for wire in used.wires
        if wire.get("kind") == kind and isinstance(wire.get("ends"), dict) and wire["ends"]
    }
    if ends:
        all_pci = {str(one.get("id")): str(one.get("pci")) for one in used.devices}
        return min(
            int(ends.get(one, {}).get(pci, 0))
            for one in all_pci
            for other, pci in all_pci.items()
            if one != other
        )
    known = rates.device_links(used.device_name or "")
    return int(known["pair"]) if known and "pair" in known else None


def _in_a_mesh(used: Used, name: str, kind: str, links: int) -> Ceiling | None:
    """Each pair of GPUs has links of its own, and a message to another GPU can take no others."""
    rate = used.stated(kind) or rates.gpu_links(name, links)
    if rate is None or not links or used.pattern == "halo":
        return None
    if used.pattern in (*PAIRWISE, "ring"):
        return Ceiling.of(rate, f"{rate.text} from one GPU to the next")
    peers = len(used.ranks) // used.width - 1
    how = f"out of a group: each of its {used.width} to {peers} other GPUs over links of their own"
    return _times(used.width * peers, rate, how)


def _staged(used: Used) -> Ceiling | None:
    """1/b = 1/b_D2H + 1/b_H2D where one copy follows the other; the slower of both where they overlap."""
    down, up = _slot(used, to_device=False), _slot(used, to_device=True)
    if down is None or up is None:
        return None
    if str(used.step.get("transport")) != "staged":
        # A library may overlap them, whether it says so or not.
        return _times(used.width, min(down, up, key=lambda rate: rate.value), "both copies at once")
    value = 1 / (1 / down.value + 1 / up.value)
    rates_ = f"{down.value / 1e9:.1f} and {up.value / 1e9:.1f} GB/s ({down.text.split(',')[0]})"
    how = f"one copy after the other: 1/b = 1/b_D2H + 1/b_H2D of {rates_}"
    return _times(used.width, replace(down, value=value, text=f"b = {value / 1e9:.1f} GB/s"), how)


def _slot(used: Used, *, to_device: bool) -> Rate | None:
    """By what the driver says of the slot; else by what the GPU is made for."""
    if stated := used.stated("pcie"):
        return stated
    generation, width = used.facts("pcie", "generation"), used.facts("pcie", "width")
    names = {str(one.get("name")) for one in used.devices}
    if (not generation or not width) and len(names) == 1 and (made := rates.slot_of(names.pop())):
        generation, width = made
    return rates.pcie(generation, width, to_device=to_device) if generation and width else None


def _copies(used: Used) -> Ceiling | None:
    """Of one rank's copies inside itself, from `memory` into `into`."""
    memory, into = used.step.get("memory"), used.step.get("into") or used.step.get("memory")
    if not used.devices:
        return None
    if memory == into == "device":
        names = {str(one.get("name")) for one in used.devices}
        rate = rates.memory(names.pop()) if len(names) == 1 else None
        if rate is None:
            return None
        half = replace(rate, value=rate.value / 2)
        return Ceiling.of(half, f"{rate.text} / 2, each byte is read and written = {half.value / 1e9:g} GB/s")
    if "device" in (memory, into) and "managed" not in (memory, into):
        found = _slot(used, to_device=into == "device")
        return Ceiling.of(found) if found else None
    return None


def _between_hosts(used: Used) -> Ceiling | None:
    """The ports that carried the bytes: those of a host together, and of all hosts the slowest."""
    per_host = len(used.ranks) // len(used.hosts)
    whole_hosts = used.pattern == "groups" and used.width == per_host
    if used.evidence.get("verdict") not in ("network", "staged") or not (per_host == 1 or whole_hosts):
        return None
    found = [_of_host(used, host) for host in used.hosts]
    known = [one for one in found if one]
    return min(known, key=lambda one: one.rate) if len(known) == len(found) else None


def _of_host(used: Used, host: str) -> Ceiling | None:
    """What its busy ports can carry of payload."""
    busy = [
        wire
        for wire in used.evidence.get("wires") or ()
        if wire["kind"] in PORTS and wire["host"] == host and _moved(wire) > 0.1 * _expected(wire)
    ]
    told = {wire.get("name"): wire for wire in used.wires if wire.get("host") == host}
    ports = [told.get(wire["name"], {}) for wire in busy]
    if not busy or not all(port.get("rate") for port in ports):
        return None
    payload = min(1.0, max(map(_expected, busy)) / sum(map(_moved, busy)))
    parts = []
    total = 0.0
    for port in ports:
        share = _tcp_payload(port) if port["kind"] == "network" else payload
        total += float(port["rate"]) * share
        parts.append(f"{port['name']} {float(port['rate']) / 1e9:g} GB/s x {share:.3f} payload")
    stated = any(port.get("stated") for port in ports)
    return Ceiling(
        total,
        f"{' + '.join(parts)} = {total / 1e9:.4g} GB/s out of {host}",
        "rate stated with --link" if stated else "rate as the driver states it",
        "network",
        stated,
    )


def _moved(wire: Record) -> int:
    return int(wire["sent"]) + int(wire["received"])


def _expected(wire: Record) -> int:
    return int(wire["expected_sent"]) + int(wire["expected_received"])


TCP_HEADERS, ETHERNET_HEADER, ETHERNET_FRAME = 52, 14, 24
"""Bytes a packet: IP, TCP and its time stamp; Ethernet's; on a real wire checksum, preamble and gap."""


def _tcp_payload(port: Record) -> float:
    """What of an interface's rate is left for payload in whole TCP packets.

    Its counters do not say: segments are cut, and given headers, after they were counted.
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
        stated = used.stated("loopback")
        return Ceiling.of(stated) if stated else None
    measured = next((wire for wire in used.wires if wire.get("kind") == "memory"), {})
    if used.evidence.get("verdict") != "shared memory" or not measured.get("rate"):
        return None
    if stated := used.stated("memory"):
        return Ceiling.of(stated, f"copies in memory = {stated.text}")
    rate = float(measured["rate"])
    text = f"one core {measured.get('slower', 'copying from memory to memory')} = {rate / 1e9:.1f} GB/s"
    return Ceiling(
        rate, text, "measured here before the counted rounds, with buffers beyond the caches", "memory"
    )


def _times(width: int, rate: Rate, how: str) -> Ceiling:
    total = width * rate.value
    text = f"{width} x {rate.text.split(' = ')[0]} = {total / 1e9:.4g} GB/s" if width > 1 else rate.text
    return Ceiling.of(
        replace(rate, value=total), f"{text} {how}" if how.startswith("out") else f"{text}, {how}"
    )


def impossible(share: float) -> bool:
    """More than all of it, by more than a rounding error."""
    return share > 1.005


def facts_of(records: Sequence[Mapping[str, Any]], path: str) -> list[Record]:
    """The wires that the last record for this path tells of."""
    found = [record.get("wires") for record in records if record.get("path") == path]
    return [dict(wire) for wire in found[-1] if isinstance(wire, dict)] if found and found[-1] else []
