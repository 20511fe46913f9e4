"""What counters say as shares of the payload: sums over wires, others' traffic, uncertainty, and names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counters import DUE, wire
from support.golden import Golden

from wirespeed.evidence.verdict import Counted, Declaration, WireShare, identify_wire, shares
from wirespeed.rank.observe.expected_traffic import ExpectedTraffic, Location

AWARE = Declaration("aware", on_device=True, direct=True, hosts=1, devices=2)


@pytest.mark.parametrize(
    ("sent", "received", "uncertainty", "carried", "quiet"),
    [
        (0.98, 0.98, 0.0, True, False),
        (0.979, 1.0, 0.0, False, False),
        (1.0, None, 0.0, True, False),
        (0.88, 1.0, 0.1, True, False),
        (0.87, 1.0, 0.1, False, False),
        (1.0, 1.0, 0.25, True, False),
        (1.0, 1.0, 0.26, False, False),
        (0.02, 0.02, 0.0, False, True),
        (0.0, 0.021, 0.0, False, False),
        (None, 0.11, 0.1, False, True),
        (0.0, 0.13, 0.1, False, False),
        (0.01, 0.01, 0.26, False, False),
        (0.0, 0.0, 0.26, False, False),
    ],
)
def test_the_doubt_counts_in_favour(
    sent: float | None, received: float | None, uncertainty: float, carried: bool, quiet: bool
) -> None:
    """Protects 98 % and 2 %, each with the uncertainty on its side; counters too coarse say nothing."""
    found = WireShare("nvlink", sent, received, uncertainty)
    assert (found.carried, found.no_traffic) == (carried, quiet)
    # No counter rose: nothing was taken off for other traffic either.
    assert WireShare("nvlink", 0.0, 0.0, uncertainty, silent=True).no_traffic


NAMED = (("idle", 10, 10), ("busy", 11, 10), ("busiest", 0, 90))
PORTS = {name: wire("roce", moved, back, name=name) for name, moved, back in NAMED}
CASES: dict[str, list[Counted]] = {
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
    """Protects the share of each kind of wires, how sure it is, and the names in the sentence."""
    told = {title: "\n".join(map(str, shares(wires).values())) for title, wires in CASES.items()}
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
