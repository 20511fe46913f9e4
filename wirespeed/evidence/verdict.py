"""Verdict on the wire that bytes travelled over, by counters read before and after a counted run.

Pure functions: they are given what was counted and what was expected, and read or move nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wirespeed.limits.wires import GPU_LINKS, NETWORKS, PORTS, WIRE_KINDS

ENOUGH = 0.98
"""Share of the payload from which a wire counts as having taken all of it."""
NOTHING = 0.02
"""Share of the payload up to which a wire counts as having taken none of it."""
TOO_UNCERTAIN = 0.25
"""Share of the payload that may be wrong; counters above it are not used."""
WANTED_UNCERTAINTY = 0.02
SPARE = 1.5
"""So many times what would do by a first count, whose background may have been small by chance."""

NO_COUNTERS = "no counters can be read here"


@dataclass(frozen=True)
class Counted:
    """Rise of one wire's counters, and the rise that was expected, in bytes."""

    kind: str
    name: str
    host: str
    sent: int
    received: int
    background: int = 0
    """Bytes sent and received that are not ours: the rate measured just before, over the same time."""
    granularity: int = 1
    device: str | None = None
    expected_sent: int = 0
    expected_received: int = 0
    links: tuple[tuple[int, int], ...] = ()
    """(sent, received) of each link of a bundle."""
    wraps: int | None = None
    """Bytes after which the counters start again at 0."""

    @property
    def in_range(self) -> bool:
        """True where the counters can hold what was to be counted."""
        return self.wraps is None or max(self.expected_sent, self.expected_received) * 1.2 < self.wraps


@dataclass(frozen=True)
class WireShare:
    """Traffic over one kind of wire, as a share of the payload that ranks exchanged."""

    kind: str
    sent: float | None
    received: float | None
    """Share of the bytes expected in this direction; None: none were expected."""
    uncertainty: float
    names: tuple[str, ...] = ()
    """Names of the wires with traffic, most first."""
    silent: bool = False
    """Did no counter rise at all? A share of 0 may also be what is left after other traffic is taken off."""

    @property
    def least(self) -> float:
        return min(share for share in (self.sent, self.received) if share is not None)

    @property
    def most(self) -> float:
        return max(share for share in (self.sent, self.received) if share is not None)

    @property
    def usable(self) -> bool:
        return self.uncertainty <= TOO_UNCERTAIN

    @property
    def carried(self) -> bool:
        return self.usable and self.least >= ENOUGH - self.uncertainty

    @property
    def no_traffic(self) -> bool:
        return self.silent or (self.usable and self.most <= NOTHING + self.uncertainty)


@dataclass(frozen=True)
class Declaration:
    """Declaration of a path, and facts of its ranks."""

    path: str
    on_device: bool
    """The data lie on GPUs."""
    direct: bool
    """The path is declared not to use host memory."""
    hosts: int
    devices: int
    """Number of GPUs that take part; ranks may share one."""
    intra_rank: bool = False
    """The path moves bytes inside a rank only."""
    crosses: bool = False
    """One of its two buffers lies in host memory, the other one in a GPU's."""


@dataclass(frozen=True)
class WireVerdict:
    """The wire that the bytes travelled over, in one word and in a sentence."""

    verdict: str
    """direct, staged, network, loopback, shared memory, pcie, copied, inside, mixed or unknown."""
    text: str
    suspicious: str | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    uncertainties: Mapping[str, float] = field(default_factory=dict)
    """Uncertainty of the share of each kind of wire."""
    rests_on: str | None = None
    """Kind of wire whose counters decided; None: the driver's count of copies, or no traffic anywhere."""


def shares(wires: Sequence[Counted]) -> dict[str, WireShare]:
    """The share of each kind of wire: ports and links of one kind are added up."""
    found = {}
    for kind in dict.fromkeys(wire.kind for wire in wires):
        ours = [wire for wire in wires if wire.kind == kind]
        # Each network port is expected to take the whole host's payload: count that once a host.
        hosts = {wire.host: wire for wire in ours} if kind in NETWORKS else dict(enumerate(ours))
        sent = sum(wire.expected_sent for wire in hosts.values())
        received = sum(wire.expected_received for wire in hosts.values())
        if not sent and not received:
            continue
        background = sum(wire.background for wire in ours)
        steps = 2 * sum(wire.granularity for wire in ours)
        carried = sum(wire.sent + wire.received for wire in ours)
        known = max(0.0, 1 - background / carried) if carried else 1.0
        busy = sorted(ours, key=lambda wire: -(wire.sent + wire.received))
        least = NOTHING * (sent + received) / len(ours)
        found[kind] = WireShare(
            kind,
            known * sum(wire.sent for wire in ours) / sent if sent else None,
            known * sum(wire.received for wire in ours) / received if received else None,
            (background + steps) / (sent + received),
            tuple(dict.fromkeys(wire.name for wire in busy if wire.sent + wire.received > least)),
            silent=carried == 0,
        )
    return found


def identify_wire(
    claim: Declaration, wires: Sequence[Counted], copies: Sequence[Mapping[str, Any]], payload: int
) -> WireVerdict:
    """The verdict from the counters, and where it contradicts what the path declares.

    `copies`: each rank's copies by kind, empty where they were not counted; `payload`: bytes expected.
    """
    found = shares(wires)
    verdict = _identify(claim, found, _Copies.of(copies, payload))
    return replace(
        verdict,
        suspicious=_suspicion(claim, verdict, found),
        shares={kind: share.least for kind, share in found.items()},
        uncertainties={kind: share.uncertainty for kind, share in found.items()},
    )


def more_would_help(verdict: WireVerdict, most: float) -> float:
    """Times as long, up to `most`, as a run takes that makes what decided certain; 0: none helps."""
    if verdict.rests_on is not None:
        doubt = verdict.uncertainties.get(verdict.rests_on, 0.0)
        return min(SPARE * doubt / WANTED_UNCERTAINTY, most) if doubt > WANTED_UNCERTAINTY else 0.0
    doubts = verdict.uncertainties.values() if verdict.verdict in ("unknown", "mixed") else ()
    return most if any(WANTED_UNCERTAINTY < doubt <= most * TOO_UNCERTAIN for doubt in doubts) else 0.0


@dataclass(frozen=True)
class _Copies:
    """Bytes that the driver copied, as shares of the payload; all 0 where copies were not counted."""

    counted: bool
    down: float = 0.0
    up: float = 0.0
    peer: float = 0.0
    on_device: float = 0.0

    @staticmethod
    def of(copies: Sequence[Mapping[str, Any]], payload: int) -> _Copies:
        if not copies or not payload:
            return _Copies(False)
        kinds = ("device_to_host", "host_to_device", "peer", "on_device")
        return _Copies(
            True,
            *(sum(int(copy.get(kind, {}).get("bytes", 0)) for copy in copies) / payload for kind in kinds),
        )

    @property
    def staged(self) -> bool:
        return self.counted and min(self.down, self.up) >= ENOUGH

    @property
    def avoid_host(self) -> bool:
        return self.counted and max(self.down, self.up) <= NOTHING


def _identify(claim: Declaration, found: Mapping[str, WireShare], copies: _Copies) -> WireVerdict:
    if claim.intra_rank:
        return _intra_rank(claim, found, copies)
    network = next((found[kind] for kind in NETWORKS if kind in found and found[kind].carried), None)
    if network:
        return _over_network(claim, network, copies)
    if claim.hosts > 1:
        return _between_hosts(claim, found, copies)
    if claim.crosses:
        return _across_pcie(found, copies) or _unknown(found)
    return _between_gpus(claim, found, copies) if claim.on_device else _in_memory(found)


def _intra_rank(claim: Declaration, found: Mapping[str, WireShare], copies: _Copies) -> WireVerdict:
    if crossed := _across_pcie(found, copies):
        return crossed
    pcie = found.get("pcie")
    # A kernel's accesses to the host's memory are no copies: without a counter of the slot nobody sees them.
    if pcie.no_traffic if pcie else not claim.crosses:
        return WireVerdict("inside", "inside one memory")
    return _unknown(found)


def _across_pcie(found: Mapping[str, WireShare], copies: _Copies) -> WireVerdict | None:
    """Between a GPU's memory and its host's, or copied by the driver inside one; None if neither shows."""
    pcie = found.get("pcie")
    if pcie and pcie.carried:
        return WireVerdict("pcie", f"over PCIe ({_amount(pcie)})", rests_on="pcie")
    if (copied := copies.down + copies.up + copies.peer + copies.on_device) >= ENOUGH:
        where = "on the GPU " if copies.on_device >= ENOUGH else ""
        return WireVerdict("copied", f"copied {where}by the driver ({100 * copied:.0f} % of the bytes)")
    return None


def _over_network(claim: Declaration, network: WireShare, copies: _Copies) -> WireVerdict:
    verdict, text = "network", f"over {_wire(network)} ({_amount(network)})"
    if network.kind == "loopback":
        verdict = "loopback"
        if claim.on_device and copies.staged:
            verdict, text = "staged", f"staged through host memory, {text}"
    elif claim.on_device and (network.kind == "network" or max(copies.down, copies.up) >= ENOUGH):
        # A socket takes host memory alone: kernels may copy to it, which the driver does not count.
        verdict, text = "staged", f"staged through host memory, {text}"
    elif claim.on_device and copies.counted:
        text = f"{text}, without a copy through host memory that the driver counted"
    return WireVerdict(verdict, text, rests_on=network.kind)


def _between_hosts(claim: Declaration, found: Mapping[str, WireShare], copies: _Copies) -> WireVerdict:
    """No network took all of the payload."""
    usable = [share for kind, share in found.items() if kind in NETWORKS and share.usable]
    best = max(usable, key=lambda share: share.least, default=None)
    if claim.on_device and copies.staged:
        return WireVerdict("staged", f"{_through_host(copies)}; no network's counters show the bytes")
    if best is None:
        return _unknown(found)
    most = "" if best.no_traffic else f" (at most {_said(best)})"
    return WireVerdict("unknown", f"no interface whose counters can be read shows all of the bytes{most}")


def _through_host(copies: _Copies) -> str:
    down, up = f"{100 * copies.down:.0f} %", f"{100 * copies.up:.0f} %"
    return f"staged through host memory: {down} of the bytes copied to the host, {up} from it"


def _between_gpus(claim: Declaration, found: Mapping[str, WireShare], copies: _Copies) -> WireVerdict:
    if claim.devices < 2 and not copies.staged:
        return WireVerdict("inside", "inside one GPU, which the ranks share")
    link, pcie = _gpu_link(found), found.get("pcie")
    # Staged data crosses PCIe in both directions; commands and their answers need not.
    if link and link.carried and not (pcie and pcie.usable and pcie.least > 0.5):
        return WireVerdict("direct", f"direct over {_wire(link)} ({_amount(link)})", rests_on=link.kind)
    if copies.avoid_host and copies.peer >= ENOUGH:
        share = f"{100 * copies.peer:.0f} % of the bytes"
        return WireVerdict("direct", f"direct: copied from GPU to GPU ({share})")
    # The driver's own count is exact; a few small messages disappear among commands on PCIe.
    counted_better = copies.staged and pcie is not None and pcie.uncertainty > WANTED_UNCERTAINTY
    if pcie and pcie.carried and (link is None or link.no_traffic) and not counted_better:
        return _over_pcie(claim, pcie, copies)
    # A library also copies commands to its GPU, which may be more than a few small messages.
    open_question = link is not None and not link.no_traffic and claim.direct
    if copies.staged and not (open_question and max(copies.down, copies.up) > 1.5):
        rests_on = link.kind if open_question and link else None
        return WireVerdict("staged", _through_host(copies), rests_on=rests_on)
    moved = _with_traffic(share for share in (link, pcie) if share)
    return WireVerdict("mixed", "mixed: " + ", ".join(map(_said, moved))) if moved else _unknown(found)


def _over_pcie(claim: Declaration, pcie: WireShare, copies: _Copies) -> WireVerdict:
    over = f"over PCIe ({_amount(pcie)})"
    if claim.direct and copies.avoid_host:
        return WireVerdict("direct", f"direct {over}", rests_on="pcie")
    if copies.staged or not claim.direct:
        return WireVerdict("staged", f"staged through host memory {over}", rests_on="pcie")
    return WireVerdict("pcie", f"{over}: through host memory, or directly between the GPUs", rests_on="pcie")


def _in_memory(found: Mapping[str, WireShare]) -> WireVerdict:
    networks = [share for kind, share in found.items() if kind in NETWORKS]
    if not networks:
        return WireVerdict("unknown", NO_COUNTERS)
    if all(share.no_traffic for share in networks):
        return WireVerdict("shared memory", "through shared memory: no traffic on any network interface")
    busy = ", ".join(map(_said, _with_traffic(networks)))
    return WireVerdict("mixed", f"mixed: {busy}, the rest through shared memory") if busy else _unknown(found)


def _suspicion(claim: Declaration, verdict: WireVerdict, found: Mapping[str, WireShare]) -> str | None:
    """What the path declares and the counters contradict."""
    pcie, link = found.get("pcie"), _gpu_link(found)
    if claim.intra_rank or claim.crosses:
        if claim.crosses and claim.hosts == 1 and pcie and pcie.no_traffic:
            return (
                f"{claim.path} is declared to cross PCIe, but the counters show no traffic on PCIe: "
                "source and destination lie on the same side of it"
            )
    elif claim.direct and claim.devices > 1 and claim.hosts == 1:
        if verdict.verdict == "staged":
            return f"{claim.path} is declared direct, but the counters show staging: {verdict.text}"
        if link and link.no_traffic:
            wire = WIRE_KINDS[link.kind].name
            return f"{claim.path} is declared direct, but the counters show no traffic on {wire}"
    return None


def _gpu_link(found: Mapping[str, WireShare]) -> WireShare | None:
    return next((found[kind] for kind in GPU_LINKS if kind in found), None)


def _with_traffic(found: Iterable[WireShare]) -> list[WireShare]:
    return [share for share in found if share.usable and not share.no_traffic]


def _wire(share: WireShare) -> str:
    names = " and ".join(share.names)
    if share.kind == "network":
        return names
    word = WIRE_KINDS[share.kind].name if share.kind in WIRE_KINDS else ""
    return f"{word} {names}" if share.kind in PORTS else word


def _percent(share: WireShare) -> str:
    within = share.uncertainty <= WANTED_UNCERTAINTY
    return f"{100 * share.least:.0f} %" + ("" if within else f" +/- {100 * share.uncertainty:.0f} %")


def _amount(share: WireShare) -> str:
    """Small messages travel in larger packets, all of which is counted."""
    if share.least >= 2:
        return f"{share.least:.1f} bytes counted for each one sent"
    return f"{_percent(share)} of the bytes"


def _said(share: WireShare) -> str:
    return f"{_percent(share)} over {_wire(share)}"


def _unknown(found: Mapping[str, WireShare]) -> WireVerdict:
    """The reason why the counters do not decide."""
    if not found:
        return WireVerdict("unknown", NO_COUNTERS)
    if all(share.usable for share in found.values()):
        return WireVerdict("unknown", "the bytes travelled over no wire whose counters can be read")
    return WireVerdict("unknown", "traffic below the counters' granularity plus background")
