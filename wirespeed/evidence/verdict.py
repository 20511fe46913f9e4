"""Which wire carried the bytes: the verdict from counters that were read around a counted run.

Nothing here reads or moves anything: it is told what was counted and what was to be expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

ENOUGH = 0.98
"""A wire that carried so much of the payload carried it."""
NOTHING = 0.02
"""A wire that carried less than this carried nothing of it."""
TOO_DOUBTFUL = 0.25
"""Counters that may be wrong by so much of the payload say nothing."""
WANTED_DOUBT = 0.02

GPU_LINKS = ("nvlink", "xgmi")
NETWORKS = ("infiniband", "roce", "network", "loopback")
WORDS = {
    "nvlink": "NVLink",
    "xgmi": "xGMI",
    "pcie": "PCIe",
    "infiniband": "InfiniBand",
    "roce": "RoCE",
    "loopback": "TCP on the loopback interface",
}


@dataclass(frozen=True)
class Counted:
    """What one wire's counters rose by, and by how much they should have, in bytes."""

    kind: str
    name: str
    host: str
    sent: int
    received: int
    background: int = 0
    """Of sent and received together: what would have passed in that time anyway, measured before it."""
    granularity: int = 1
    device: str | None = None
    expected_sent: int = 0
    expected_received: int = 0
    links: tuple[tuple[int, int], ...] = ()
    """(sent, received) of each link of a bundle."""

    def to_dict(self) -> dict[str, Any]:
        found = dict(self.__dict__)
        found["links"] = [list(link) for link in self.links]
        return found


@dataclass(frozen=True)
class Sharing:
    """What a kind of wire carried, as a share of the payload that ranks exchanged."""

    kind: str
    sent: float | None
    received: float | None
    """None: nothing was to pass this way."""
    doubt: float
    names: tuple[str, ...] = ()
    """The wires that carried something, most first."""

    @property
    def least(self) -> float:
        """What is missing on one side did not pass."""
        return min(share for share in (self.sent, self.received) if share is not None)

    @property
    def most(self) -> float:
        return max(share for share in (self.sent, self.received) if share is not None)

    @property
    def told(self) -> bool:
        return self.doubt <= TOO_DOUBTFUL

    @property
    def carried(self) -> bool:
        return self.told and self.least >= ENOUGH - self.doubt

    @property
    def silent(self) -> bool:
        return self.most == 0 or (self.told and self.most <= NOTHING + self.doubt)


@dataclass(frozen=True)
class Claim:
    """What a path says of itself, and what its ranks are."""

    path: str
    on_device: bool
    """Do the data lie on GPUs?"""
    direct: bool
    """Does it promise to leave the host's memory alone?"""
    hosts: int
    devices: int
    """GPUs that take part; ranks may share one."""
    intra_rank: bool = False
    """Does it move bytes inside a rank only?"""
    crosses: bool = False
    """From the host's memory to a GPU's, or back, inside a rank?"""


@dataclass(frozen=True)
class Verdict:
    """The wire, in one word and in a sentence."""

    verdict: str
    """direct, staged, network, loopback, shared memory, pcie, copied, inside, mixed or unknown."""
    text: str
    suspicious: str | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    rests_on: str | None = None
    """The kind of wire whose counters say so; None: the driver's count of copies, or silence."""


def shares(wires: Sequence[Counted]) -> dict[str, Sharing]:
    """Each kind of wire together: several ports or links share what they carry."""
    found = {}
    for kind in dict.fromkeys(wire.kind for wire in wires):
        ours = [wire for wire in wires if wire.kind == kind]
        # Network ports see the whole host's payload each; what they carried adds up.
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
        found[kind] = Sharing(
            kind,
            known * sum(wire.sent for wire in ours) / sent if sent else None,
            known * sum(wire.received for wire in ours) / received if received else None,
            (background + steps) / (sent + received),
            tuple(dict.fromkeys(wire.name for wire in busy if wire.sent + wire.received > least)),
        )
    return found


def judge(
    claim: Claim, wires: Sequence[Counted], copies: Sequence[Mapping[str, Any]], payload: int
) -> Verdict:
    """The verdict. `copies`: each rank's by kind, empty where nobody counted; `payload`: bytes expected."""
    found = shares(wires)
    sums = {kind: share.least for kind, share in found.items()}
    verdict = _judge(claim, found, _Copies.of(copies, payload))
    suspicious = verdict.suspicious or _suspicion(claim, verdict, found)
    return replace(verdict, suspicious=suspicious, shares=sums)


def more_would_help(verdict: Verdict, doubts: Mapping[str, float], times: float) -> bool:
    """Would a run `times` as long leave less doubt about what the verdict rests on?"""
    if verdict.rests_on is not None:
        return doubts.get(verdict.rests_on, 0.0) > WANTED_DOUBT
    if verdict.verdict in ("unknown", "mixed"):
        return any(WANTED_DOUBT < doubt <= times * TOO_DOUBTFUL for doubt in doubts.values())
    return False


@dataclass(frozen=True)
class _Copies:
    """Bytes that the driver copied, as shares of the payload; None where nobody counted."""

    counted: bool
    down: float = 0.0
    up: float = 0.0
    peer: float = 0.0
    on_device: float = 0.0

    @property
    def all(self) -> float:
        return self.down + self.up + self.peer + self.on_device

    @staticmethod
    def of(copies: Sequence[Mapping[str, Any]], payload: int) -> _Copies:
        if not copies or not payload:
            return _Copies(False)

        def share(kind: str) -> float:
            return sum(int(one.get(kind, {}).get("bytes", 0)) for one in copies) / payload

        kinds = ("device_to_host", "host_to_device", "peer", "on_device")
        return _Copies(True, *map(share, kinds))

    @property
    def staged(self) -> bool:
        return self.counted and min(self.down, self.up) >= ENOUGH

    @property
    def beyond(self) -> bool:
        """More than the payload and what surrounds it?"""
        return max(self.down, self.up) > 1.5

    @property
    def direct(self) -> bool:
        return self.counted and self.peer >= ENOUGH and max(self.down, self.up) <= NOTHING


def _judge(claim: Claim, found: Mapping[str, Sharing], copies: _Copies) -> Verdict:
    if claim.intra_rank:
        return _within(found, copies)
    network = next((found[kind] for kind in NETWORKS if kind in found and found[kind].carried), None)
    if claim.hosts > 1 or network:
        return _over_network(claim, found, network, copies)
    return _between_gpus(claim, found, copies) if claim.on_device else _in_memory(found)


def _within(found: Mapping[str, Sharing], copies: _Copies) -> Verdict:
    pcie = found.get("pcie")
    if pcie and pcie.carried:
        return Verdict("pcie", f"over PCIe ({_amount(pcie)})", rests_on="pcie")
    if copies.all >= ENOUGH:
        where = "on the GPU " if copies.on_device >= ENOUGH else ""
        return Verdict("copied", f"copied {where}by the driver ({100 * copies.all:.0f} % of the bytes)")
    if not pcie or pcie.silent:
        return Verdict("inside", "inside one memory")
    return Verdict("unknown", _doubtful(found))


def _over_network(
    claim: Claim, found: Mapping[str, Sharing], network: Sharing | None, copies: _Copies
) -> Verdict:
    if network is None:
        counted = [share for kind, share in found.items() if kind in NETWORKS and share.told]
        if not counted:
            return Verdict("unknown", _doubtful(found))
        best = max(counted, key=lambda share: share.least)
        return Verdict(
            "unknown", f"no interface whose counters can be read carried them all ({_said(best)} at most)"
        )
    text = f"over {_wire(network)} ({_amount(network)})"
    kind = network.kind
    if network.kind == "loopback":
        if claim.on_device and copies.staged:
            return Verdict("staged", f"staged through host memory, {text}", rests_on=kind)
        return Verdict("loopback", text, rests_on=kind)
    if claim.on_device and copies.counted:
        staged = copies.down >= ENOUGH or copies.up >= ENOUGH
        text += ", staged through host memory" if staged else ", straight from and to the GPUs' memory"
        return Verdict("staged" if staged else "network", text, rests_on=kind)
    return Verdict("network", text, rests_on=kind)


def _between_gpus(claim: Claim, found: Mapping[str, Sharing], copies: _Copies) -> Verdict:
    if claim.devices < 2:
        return Verdict("inside", "inside one GPU, which the ranks share")
    link = next((found[kind] for kind in GPU_LINKS if kind in found), None)
    pcie = found.get("pcie")
    # What is staged crosses PCIe both ways; commands and their answers need not.
    if link and link.carried and not (pcie and pcie.told and pcie.least > 0.5):
        return Verdict("direct", f"direct over {_wire(link)} ({_amount(link)})", rests_on=link.kind)
    if copies.direct:
        return Verdict("direct", f"direct: copied from GPU to GPU ({100 * copies.peer:.0f} % of the bytes)")
    # The driver's own count is exact where a few small messages are lost among commands.
    counted_better = copies.staged and pcie is not None and pcie.doubt > WANTED_DOUBT
    if pcie and pcie.carried and (link is None or link.silent) and not counted_better:
        if claim.direct and copies.counted and max(copies.down, copies.up) <= NOTHING:
            return Verdict("direct", f"direct over PCIe ({_amount(pcie)})", rests_on="pcie")
        if copies.staged or not claim.direct:
            text = f"staged through host memory over PCIe ({_amount(pcie)})"
            return Verdict("staged", text, rests_on="pcie")
        text = f"over PCIe ({_amount(pcie)}): through host memory, or straight between the GPUs"
        return Verdict("pcie", text, rests_on="pcie")
    # What a library tells its GPU is copied, too, and may be more than a few small messages.
    open_question = link is not None and not link.silent and claim.direct
    if copies.staged and not (open_question and copies.beyond):
        return Verdict(
            "staged",
            "staged through host memory: "
            f"{100 * copies.down:.0f} % of the bytes copied to the host, {100 * copies.up:.0f} % from it",
            rests_on=link.kind if open_question and link else None,
        )
    moved = [share for share in (link, pcie) if share and share.told and not share.silent]
    if moved:
        return Verdict("mixed", "mixed: " + ", ".join(f"{_said(share)}" for share in moved))
    return Verdict("unknown", _doubtful(found))


def _in_memory(found: Mapping[str, Sharing]) -> Verdict:
    networks = [share for kind, share in found.items() if kind in NETWORKS]
    if not networks:
        return Verdict("unknown", "nothing here counts bytes")
    if all(share.silent for share in networks):
        return Verdict("shared memory", "through shared memory: every network interface stayed silent")
    busy = [share for share in networks if share.told and not share.silent]
    if busy:
        return Verdict("mixed", "mixed: " + ", ".join(map(_said, busy)) + ", the rest through shared memory")
    return Verdict("unknown", _doubtful(found))


def _suspicion(claim: Claim, verdict: Verdict, found: Mapping[str, Sharing]) -> str | None:
    """What a path promises, and its wires deny."""
    if claim.intra_rank:
        return _stayed(claim, found)
    if not claim.direct or claim.devices < 2 or claim.hosts > 1:
        return None
    if verdict.verdict == "staged":
        return f"{claim.path} was to go straight between the GPUs, but {verdict.text}"
    link = next((found[kind] for kind in GPU_LINKS if kind in found), None)
    if link and link.silent:
        return f"{claim.path} was to go straight between the GPUs, but {WORDS[link.kind]} stayed silent"
    return None


def _stayed(claim: Claim, found: Mapping[str, Sharing]) -> str | None:
    """A copy between host and GPU that never left the GPU."""
    pcie = found.get("pcie")
    if claim.crosses and pcie and pcie.silent:
        return f"{claim.path} was to cross PCIe, which stayed silent: the data lay on one side of it"
    return None


def _wire(share: Sharing) -> str:
    word = WORDS.get(share.kind, "")
    if share.kind not in NETWORKS or share.kind == "loopback":
        return word
    return " ".join(filter(None, (word, " and ".join(share.names))))


def _percent(share: Sharing) -> str:
    doubt = "" if share.doubt <= WANTED_DOUBT else f", give or take {100 * share.doubt:.0f} %"
    return f"{100 * share.least:.0f} %{doubt}"


def _amount(share: Sharing) -> str:
    """Small messages travel in larger packets, all of which is counted."""
    if share.least >= 2:
        return f"{share.least:.1f} bytes counted for each one sent"
    return f"{_percent(share)} of the bytes"


def _said(share: Sharing) -> str:
    return f"{_percent(share)} over {_wire(share)}"


def _doubtful(found: Mapping[str, Sharing]) -> str:
    if not found:
        return "nothing here counts bytes"
    if all(share.told for share in found.values()):
        return "no wire whose counters can be read carried them"
    return "too few bytes for the counters' steps and for what else was on the wires"
