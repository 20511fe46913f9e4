"""Where one verdict ends and the next begins, and shares of the payload: counts of 1000 bytes each way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counters import DUE, wire
from support.golden import Golden

from wirespeed.evidence.verdict import (
    SPARE,
    Counted,
    Declaration,
    WireShare,
    WireVerdict,
    identify_wire,
    more_would_help,
    shares,
)
from wirespeed.rank.observe.expected_traffic import ExpectedTraffic, Location

AWARE = Declaration("aware", on_device=True, direct=True, hosts=1, devices=2)
STAGED = replace(AWARE, path="staged", direct=False)
HOST = Declaration("host", on_device=False, direct=False, hosts=1, devices=0)
FAR = replace(HOST, hosts=2)
FAR_AWARE = replace(AWARE, hosts=2)
INSIDE = replace(AWARE, path="d2h", intra_rank=True, direct=False)
CROSSES = replace(INSIDE, path="h2d", crosses=True)
MIXED = replace(AWARE, path="aware-d2h", direct=False, crosses=True)
ETH, ROCE, LO = (
    wire("network", 1000, name="eth0"),
    wire("roce", 1000, name="mlx5_0"),
    wire("loopback", 1000, name="lo"),
)
LINK, SLOT, IDLE = wire("nvlink", 1000), wire("pcie", 1000), wire("pcie", 0)
DROWNED, COARSE = wire("nvlink", 1000, noise=600), replace(wire("nvlink", 900), granularity=300)
Copies = tuple[int, int, int, int] | None
"""Bytes that the driver copied: down to the host, up to the device, from peer to peer, on the device."""
CASES: dict[str, tuple[Declaration, list[tuple[list[Counted], Sequence[Copies]]]]] = {
    "within one rank: all kinds of copies count, from 98 % on; half over the slot is not inside": (
        INSIDE,
        [
            ([], [(250, 250, 250, 250), (100, 200, 300, 380), (100, 200, 300, 379)]),
            ([], [(0, 0, 0, 980), (10, 0, 0, 979)]),
            ([wire("pcie", 500)], [None]),
            ([wire("pcie", 20)], [None]),
            ([IDLE], [None]),
        ],
    ),
    "a copy that must cross PCIe: only a slot that is there and silent is suspicious": (
        CROSSES,
        [([IDLE], [None, (0, 0, 0, 1000)]), ([], [None]), ([SLOT], [(0, 1000, 0, 0)])],
    ),
    "buffers on the GPU and in the peer's host memory cross PCIe once": (
        MIXED,
        [([SLOT], [None]), ([], [(1000, 0, 0, 0), None]), ([IDLE], [(1000, 0, 0, 0)])],
    ),
    "the same between hosts: a slot that is silent may be the other host's": (
        replace(MIXED, hosts=2),
        [([IDLE], [None])],
    ),
    "host buffers between hosts: the interface that carried most is named; GPUs' links are none": (
        FAR,
        [
            (
                [wire("network", 100, name="eth0"), wire("roce", 700, name="mlx5_0"), wire("nvlink", 900)],
                [None],
            ),
            ([wire("roce", 1000, noise=600), LINK], [None]),
            ([LINK], [None]),
            ([ETH], [None]),
            ([wire("network", 0, name="eth0")], [None]),
            ([ROCE], [(980, 0, 0, 0), (0, 980, 0, 0)]),
            ([wire("infiniband", 500, name=f"mlx5_{n} port 1") for n in (0, 1)], [None]),
            # A foreign packet's interface is not named.
            ([wire("network", moved, name=f"eth{n}") for n, moved in enumerate((985, 5, 25))], [None]),
        ],
    ),
    "GPUs of two hosts: the driver's copies of either side say staged, and a socket takes host memory": (
        FAR_AWARE,
        [
            ([wire("network", 0, name="eth0")], [(1000, 1000, 0, 0)]),
            ([ROCE], [None, (980, 0, 0, 0), (0, 980, 0, 0), (979, 979, 0, 0), (0, 0, 0, 1)]),
            ([ETH], [None, (0, 0, 0, 1), (980, 0, 0, 0), (1000, 1000, 0, 0)]),
            ([wire("nvlink", 0), ROCE], [(1000, 1000, 0, 0)]),
        ],
    ),
    "host buffers of one host: what moved is listed; GPUs' links say nothing of the host's memory": (
        HOST,
        [
            ([LO], [None, (980, 980, 0, 0)]),
            ([wire("network", 300, name="eth0"), wire("loopback", 400), wire("roce", 0)], [None]),
            ([wire("network", 500, noise=600), wire("loopback", 0)], [None]),
            ([wire("nvlink", 0), wire("pcie", 500)], [None]),
            ([wire("network", 0), wire("loopback", 0)], [None]),
            # A counter whose steps are larger than the payload: a foreign packet is no traffic of ours.
            ([replace(wire("loopback", 830), granularity=65536)], [None]),
            ([replace(wire("loopback", 0), granularity=65536)], [None]),
        ],
    ),
    "staged between GPUs of one host: copies both ways, or PCIe that has it all": (
        STAGED,
        [
            ([LO], [None, (1000, 0, 0, 0), (980, 980, 0, 0)]),
            ([SLOT], [None, (0, 0, 0, 0)]),
            ([wire("nvlink", 0), wire("pcie", 1090)], [None]),  # headers are counted, too
            ([SLOT, wire("nvlink", 20)], [None]),
            ([SLOT, wire("nvlink", 300)], [None]),
            ([wire("pcie", 979)], [None]),
            # The driver's count is worth more than a slot's share that is uncertain by more than 2 %.
            ([wire("pcie", 1100, noise=41)], [None, (1040, 990, 0, 0)]),
            ([wire("pcie", 1100, noise=40)], [(1040, 990, 0, 0)]),
            ([], [(1040, 990, 0, 0)]),
            ([COARSE], [(980, 980, 0, 0), (980, 1501, 0, 0)]),
            ([wire("nvlink", 0), ROCE], [(1000, 1000, 0, 0)]),
        ],
    ),
    "declared direct: a link that carried it or not quite, doubt from 2 % on, and promises not kept": (
        AWARE,
        [
            *(([wire("nvlink", moved)], [None]) for moved in (979, 980, 1990, 2000, 300)),
            *(([wire("nvlink", 1000, noise=noise)], [None]) for noise in (40, 60, 209, 600)),
            *(([LINK, wire("pcie", moved)], [None]) for moved in (500, 501)),
            ([LINK, wire("pcie", 1000, noise=600)], [None]),
            # Copies from peer to peer, with next to nothing through the host.
            ([], [(20, 20, 980, 0), (0, 0, 979, 0), (0, 21, 1000, 0), (21, 0, 1000, 0)]),
            # One way alone is not staged.
            ([], [(1000, 0, 0, 0), (0, 1000, 0, 0), (980, 979, 0, 0), (1000, 1000, 0, 0), None]),
            # PCIe: nothing copied, all copied, and nobody knows.
            ([SLOT], [(20, 20, 0, 0), (980, 980, 0, 0), (21, 0, 0, 0), (0, 21, 0, 0), (1000, 0, 0, 0), None]),
            # More than 1.5 times the payload through the host are a library's own copies.
            ([COARSE], [(980, 1500, 0, 0), (980, 1501, 0, 0), (2000, 980, 0, 0)]),
            ([DROWNED, wire("pcie", 300)], [None]),
            ([DROWNED, IDLE], [None]),
            *(([wire("xgmi", moved)], [None]) for moved in (0, 1000)),
            ([wire("nvlink", 0), IDLE], [None]),
            ([replace(wire("nvlink", 1000), granularity=1024)], [None]),
            # Orders to a GPU that sends by itself: 37 times a small message.
            ([wire("nvlink", 0)], [(2000, 37000, 0, 0)]),
            # Commands cross PCIe, one way more than the other.
            *(([wire("nvlink", 2000), wire("pcie", sent, 800)], [None]) for sent in (150, 800)),
        ],
    ),
    "declared direct, of one device: no accusation": (
        replace(AWARE, devices=1),
        [([], [(1000, 1000, 0, 0)]), ([wire("nvlink", 0)], [None])],
    ),
}


def driver(copies: Copies) -> list[dict[str, object]]:
    kinds = zip(("device_to_host", "host_to_device", "peer", "on_device"), copies or (), strict=False)
    counts = {kind: {"count": 1, "bytes": count} for kind, count in kinds if count}
    return [] if copies is None else [{"rank": 0, **counts}]


def told(claim: Declaration, wires: list[Counted], copies: Copies) -> str:
    found = identify_wire(claim, wires, driver(copies), DUE)
    noise = [
        f" ±{one.background + one.granularity}" if one.background + one.granularity else "" for one in wires
    ]
    given = [f"{one.kind} {one.sent}{more}" for one, more in zip(wires, noise, strict=True)]
    given += ["copies {}, {}, {}, {}".format(*copies)] if copies else []
    lines = [f"{'; '.join(given) or 'nothing'} -> {found.verdict} ({found.rests_on}): {found.text}"]
    return "\n  suspicious: ".join([*lines, *filter(None, [found.suspicious])])


def test_verdicts(golden: Golden) -> None:
    """Protects each border between two verdicts, its sentence, what it rests on, and the accusations."""
    texts = {
        f"{title} [{claim.path}, {claim.hosts} hosts, {claim.devices} devices]": "\n".join(
            told(claim, wires, one) for wires, copies in cases for one in copies
        )
        for title, (claim, cases) in CASES.items()
    }
    golden("evidence/wire_verdicts", texts)


def test_a_rank_of_which_no_copies_are_known_has_made_none() -> None:
    """Protects from a copy that nobody counted, however small the payload."""
    assert identify_wire(INSIDE, [], [{"rank": 0}], 1).verdict == "inside"
    assert identify_wire(INSIDE, [], driver((980, 0, 0, 0)), 0).verdict == "inside", "nothing was to be moved"


class TestMoreWouldHelp:
    @pytest.mark.parametrize(
        ("uncertainty", "times"), [(0.0, 0), (0.02, 0), (0.021, 1.05 * SPARE), (0.05, 2.5 * SPARE), (9.0, 10)]
    )
    def test_what_the_verdict_rests_on(self, uncertainty: float, times: float) -> None:
        """Protects the user's time: the wire that decided may not stay uncertain, others may."""
        direct = WireVerdict("direct", "", rests_on="nvlink")
        open_one = replace(direct, uncertainties={"nvlink": uncertainty, "pcie": 0.9})
        assert (more_would_help(open_one, 10) or 0) == pytest.approx(times)
        assert not more_would_help(replace(direct, uncertainties={}), 10)
        assert not more_would_help(WireVerdict("shared memory", "", uncertainties={"loopback": 0.1}), 10)

    @pytest.mark.parametrize("verdict", ["unknown", "mixed"])
    @pytest.mark.parametrize(
        ("uncertainty", "helps"), [(0.02, False), (0.03, True), (2.5, True), (2.6, False)]
    )
    def test_an_open_verdict(self, verdict: str, uncertainty: float, helps: bool) -> None:
        """Protects the time of a run ten times as long: that makes 2.5 small enough, not 2.6."""
        open_one = replace(WireVerdict(verdict, ""), uncertainties={"pcie": uncertainty, "nvlink": 0.0})
        assert more_would_help(open_one, 10) == (10 if helps else 0)


DOUBTS = (
    *((0.98, 0.98, 0.0), (0.979, 1.0, 0.0), (1.0, None, 0.0), (0.88, 1.0, 0.1), (0.87, 1.0, 0.1)),
    *((1.0, 1.0, 0.25), (1.0, 1.0, 0.26), (0.02, 0.02, 0.0), (0.0, 0.021, 0.0), (None, 0.11, 0.1)),
    *((0.0, 0.13, 0.1), (0.01, 0.01, 0.26), (0.0, 0.0, 0.26)),
)
"""Shares sent and received, and how uncertain they are."""
NAMED = (("idle", 10, 10), ("busy", 11, 10), ("busiest", 0, 90))
PORTS = {name: wire("roce", moved, back, name=name) for name, moved, back in NAMED}
SHARES: dict[str, list[Counted]] = {
    "of 1500 + 1000 bytes 500 were others': 4/5 of each direction are ours": [
        Counted("pcie", "GPU 0", "n1", 1500, 1000, 500, 10, "G", DUE, DUE)
    ],
    "more noise than traffic is no traffic": [wire("pcie", 100, noise=300)],
    "nothing was to come back, so nothing is missing; a counter steps by single bytes": [
        Counted("pcie", "GPU 0", "n1", 900, 7, expected_sent=DUE)
    ],
    "a GPU that takes no part says nothing, and hides nothing": [
        *(Counted("pcie", "GPU 0", "n1", 900, 7), wire("nvlink", 1000))
    ],
    "both ports of a host expect the same 1000 bytes": [
        *(wire("roce", 500, name="a"), wire("roce", 300, name="b"), replace(wire("roce", 1000), host="n2"))
    ],
    "each GPU expects its own": [wire("nvlink", 1000), wire("nvlink", 400)],
    "a wire of two that moved 2 % of its half, 20 bytes, has no name": [PORTS["idle"], PORTS["busy"]],
    "the busiest is named first": [PORTS["busy"], PORTS["busiest"]],
}


def test_shares(golden: Golden) -> None:
    """Protects the share of each kind of wires, how sure it is, and the names in the sentence.

    98 % and 2 % each have the uncertainty on their side; counters too coarse say nothing.
    """
    told = {title: "\n".join(map(str, shares(wires).values())) for title, wires in SHARES.items()}
    for sent, received, doubt in DOUBTS:
        one = WireShare("nvlink", sent, received, doubt)
        words = f"carried: {one.carried}, no traffic: {one.no_traffic}"
        told[f"sent {sent}, received {received}, ±{doubt}"] = words
        # No counter rose: nothing was taken off for other traffic either.
        assert WireShare("nvlink", 0.0, 0.0, doubt, silent=True).no_traffic
    golden("evidence/shares", told)


def test_the_verdict_says_how_much_of_each_kind() -> None:
    """Protects the record's shares: what is missing on one side did not pass."""
    found = identify_wire(AWARE, [wire("nvlink", 1000, 990), wire("pcie", 50, 70)], [], DUE)
    assert found.shares == {"nvlink": 0.99, "pcie": 0.05}


@given(
    st.lists(
        st.tuples(st.integers(1, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 20)), min_size=1
    ),
    st.booleans(),
)
def test_any_counts_have_a_verdict(counts: list[tuple[int, int, int]], on_device: bool) -> None:
    """Protects a run from its own sources: no count breaks the verdict, no share is negative."""
    wires = [
        Counted(
            "nvlink" if n % 2 else "pcie", f"GPU {n}", "n1", moved, moved, noise, 1024, f"GPU-{n}", due, due
        )
        for n, (due, moved, noise) in enumerate(counts)
    ]
    assert all(share.least >= 0 and share.uncertainty >= 0 for share in shares(wires).values())
    claim = AWARE if on_device else replace(AWARE, on_device=False, direct=False, devices=0)
    found = identify_wire(claim, wires, [], sum(due for due, _, _ in counts))
    assert found.text and "\n" not in found.text


def test_what_must_cross_an_edge() -> None:
    """Protects the expectation: bytes inside a GPU cross no link, bytes inside a host no network."""
    places = [Location("a", "G0"), Location("a", "G0"), Location("a", "G1"), Location("b", "G0")]
    each = [{peer: 10 for peer in range(4) if peer != rank} for rank in range(4)]
    found = ExpectedTraffic.of(places, each)
    assert found.total == 120
    assert found.sent[places[0]] == found.received[places[0]] == 2 * 20
    assert found.sent[places[2]] == 30 and found.sent["a"] == 30 and found.received["b"] == 30
    assert found.read[places[0]] == found.written[places[0]] == 2 * 30, "to and from anywhere"
    assert found.between_hosts == (0, 1, 2, 3)
    assert ExpectedTraffic.of(places, [{}, {3: 10}, {0: 10}, {}]).between_hosts == (1, 3)
