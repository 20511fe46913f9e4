"""The NICs that each rank's bytes left by: what libraries said and hosts counted. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.evidence.verdict import NOTHING, TOO_UNCERTAIN
from wirespeed.host.pci_topology import cpu_distance
from wirespeed.host.process import cpu_list
from wirespeed.limits.wires import PORTS

Message = Mapping[str, Any]
COUNTERS, OF_HOST, LOG = "counters", "counters of its host", "log"
MIN_SHARE = 0.5
"""Share of a host's payload that the ports of one kind must have carried for their counters to tell."""


def used(
    ranks: Sequence[Message],
    named: Mapping[int, Sequence[Message]],
    wires: Sequence[Message],
    counted: Sequence[Message],
) -> tuple[list[dict[str, Any]], str | None]:
    """Each rank's NICs, nearest to what is known of them, and where logs and counters contradict each other.

    `ranks`: of the job step, with host and device. `named`: the NICs in each rank's log. `wires` and
    `counted`: of the records `wires` and `evidence`. Empty for ranks of one host, which need no NIC.
    """
    hosts: dict[str, list[Message]] = {}
    for rank in ranks:
        hosts.setdefault(rank["host"], []).append(rank)
    if len(hosts) < 2:
        return [], None
    about = {(wire["host"], nic_name(wire)): wire for wire in wires if wire["kind"] in PORTS}
    found, denied = [], []
    for host, there in hosts.items():
        shares = counted_shares(host, wires, counted)
        for rank in there:
            said = named.get(rank["rank"], ())
            nics, sources = _of_rank(said, shares, alone=len(there) == 1)
            for nic in nics:
                if distance := _distance(rank, about.get((host, nic["name"]), {})):
                    nic["distance"] = distance
            if nics:
                found.append({"rank": rank["rank"], "host": host, "nics": nics, "by": sources})
            if shares and _silent(said, host, counted):
                denied.append((host, _names(said), " and ".join(shares)))
    texts = [
        f"on {host} the log names {said}, but the counters show the traffic on {others}"
        for host, said, others in dict.fromkeys(denied)
    ]
    return sorted(found, key=lambda record: int(record["rank"])), "; ".join(texts) or None


def _distance(rank: Message, wire: Message) -> str:
    """From the rank's GPU to a NIC, or from its CPUs where it has no GPU; empty where it is not known."""
    if device := rank.get("device"):
        return str(wire.get("distances", {}).get(str(device.get("pci") or "").lower(), ""))
    return cpu_distance(cpu_list(rank.get("cpus")), cpu_list(wire.get("near")))


def nic_name(wire: Message) -> str:
    """A port as UCX and NCCL write it: 'mlx5_0:1' of the wire 'mlx5_0 port 1'; an interface as it is."""
    return str(wire["name"]).replace(" port ", ":")


def counted_shares(host: str, wires: Sequence[Message], counted: Sequence[Message]) -> dict[str, float]:
    """NIC -> its share of what a host's NICs carried, most first; {} where the counters do not tell.

    Of a port that is RDMA's and an interface of IP at once, the port counts.
    """
    physical = {(wire["host"], wire["name"]) for wire in wires if wire.get("pci")}
    for kind in PORTS:
        ours = [counter for counter in counted if counter["host"] == host and counter["kind"] == kind]
        # Of a virtual interface on top of a NIC both count the same bytes.
        ours = [counter for counter in ours if (host, counter["name"]) in physical] or ours
        due = max((counter["expected_sent"] + counter["expected_received"] for counter in ours), default=0)
        unsure = sum(counter["background"] + 2 * counter["granularity"] for counter in ours)
        carried = {
            nic_name(counter): max(0, counter["sent"] + counter["received"] - counter["background"])
            for counter in ours
        }
        total = sum(carried.values())
        if due and total >= MIN_SHARE * due and unsure <= TOO_UNCERTAIN * due:
            most_first = sorted(carried, key=lambda name: -carried[name])
            return {name: carried[name] / total for name in most_first if carried[name] > NOTHING * total}
    return {}


def _of_rank(
    said: Sequence[Message], shares: Mapping[str, float], *, alone: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """A rank's NICs, and what they are known by."""
    names = [nic["name"] for nic in said]
    confirmed = [name for name in names if name in shares]
    if said and not shares:
        return [dict(nic) for nic in said], [LOG]
    # A log names what a connection may use; the counters, what it used.
    kept = confirmed or list(shares)
    told = {nic["name"]: nic for nic in said}
    nics = [{**told.get(name, {"name": name}), "share": round(shares[name], 4)} for name in kept]
    sure = alone or len(shares) == 1
    return nics, [COUNTERS if sure else OF_HOST] * bool(nics) + [LOG] * bool(confirmed)


def _silent(said: Sequence[Message], host: str, counted: Sequence[Message]) -> bool:
    """Whether every NIC in the log is counted and carried nothing. Of a bond only its members are counted."""
    wires = {
        nic_name(counter): counter
        for counter in counted
        if counter["host"] == host and counter["kind"] in PORTS
    }
    if not said or not all(nic["name"] in wires for nic in said):
        return False
    ours = [wires[nic["name"]] for nic in said]
    due = max(counter["expected_sent"] + counter["expected_received"] for counter in ours)
    return all(
        counter["sent"] + counter["received"] - counter["background"] <= NOTHING * due for counter in ours
    )


def _names(nics: Sequence[Message]) -> str:
    return " and ".join(dict.fromkeys(nic["name"] for nic in nics))
