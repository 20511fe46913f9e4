"""The verdict is a function of what was counted: every kind of wire, every contradiction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.evidence.verdict import (
    SPARE,
    Counted,
    Declaration,
    WireShare,
    identify_wire,
    more_would_help,
    shares,
)
from wirespeed.rank.observe.expected_traffic import ExpectedTraffic, Location

PAYLOAD = 1 << 30
AWARE = Declaration("aware", on_device=True, direct=True, hosts=1, devices=2)
STAGED = replace(AWARE, path="staged", direct=False)
HOST = Declaration("host", on_device=False, direct=False, hosts=1, devices=0)


def gpu_wires(kind: str, share: float, *, background: int = 0, overhead: float = 1.0) -> list[Counted]:
    """Both GPUs of a ping-pong that sent PAYLOAD over this kind of wire, half of it each way."""
    half = PAYLOAD // 2
    moved = int(half * share * overhead) + background // 2
    return [
        Counted(kind, f"GPU {n}", "n1", moved, moved, background, 1024, f"GPU-{n}", half, half)
        for n in (0, 1)
    ]


def interface(kind: str, name: str, share: float, host: str = "n1") -> Counted:
    return Counted(kind, name, host, int(PAYLOAD * share), int(PAYLOAD * share), 0, 1, None, PAYLOAD, PAYLOAD)


QUIET = [interface("network", "eth0", 0.0), interface("loopback", "lo", 0.0)]


def copies(**shares_of: float) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            **{kind: {"count": 1, "bytes": int(PAYLOAD / 2 * share)} for kind, share in shares_of.items()},
        }
        for rank in (0, 1)
    ]


@pytest.mark.parametrize(
    ("claim", "wires", "copied", "verdict", "says"),
    [
        (AWARE, gpu_wires("nvlink", 1) + gpu_wires("pcie", 0), [], "direct", "direct over NVLink (100 %"),
        (AWARE, gpu_wires("nvlink", 4.1), [], "direct", "(4.1 bytes counted for each one sent)"),
        (AWARE, gpu_wires("xgmi", 1), [], "direct", "direct over xGMI"),
        # PCIe's counters see packets, headers and all.
        (
            STAGED,
            gpu_wires("nvlink", 0) + gpu_wires("pcie", 1, overhead=1.09),
            [],
            "staged",
            "over PCIe (109 %",
        ),
        (AWARE, gpu_wires("nvlink", 0) + gpu_wires("pcie", 1), [], "pcie", "directly between the GPUs"),
        (
            AWARE,
            gpu_wires("nvlink", 0) + gpu_wires("pcie", 1),
            copies(host_to_device=1, device_to_host=1),
            "staged",
            "staged through host memory over PCIe",
        ),
        (AWARE, gpu_wires("pcie", 1), copies(on_device=0.0), "direct", "direct over PCIe"),
        (
            AWARE,
            gpu_wires("nvlink", 0.6) + gpu_wires("pcie", 0.4),
            [],
            "mixed",
            "60 % over NVLink, 40 % over PCIe",
        ),
        (AWARE, [], copies(peer=1), "direct", "copied from GPU to GPU (100 %"),
        (
            AWARE,
            [],
            copies(host_to_device=1, device_to_host=1),
            "staged",
            "100 % of the bytes copied to the host",
        ),
        (AWARE, [], [], "unknown", "no counters can be read"),
        (AWARE, gpu_wires("nvlink", 0) + gpu_wires("pcie", 0), [], "unknown", "no wire"),
        (replace(AWARE, devices=1), gpu_wires("nvlink", 0), [], "inside", "which the ranks share"),
        (HOST, QUIET, [], "shared memory", "no traffic on any network interface"),
        (HOST, [interface("loopback", "lo", 1.01)], [], "loopback", "TCP on the loopback interface (101 %"),
        (
            STAGED,
            [interface("loopback", "lo", 1)],
            copies(host_to_device=1, device_to_host=1),
            "staged",
            "staged through host memory, over TCP on the loopback interface",
        ),
        (HOST, [interface("loopback", "lo", 0.5)], [], "mixed", "the rest through shared memory"),
        (HOST, [], [], "unknown", "no counters can be read"),
        (replace(HOST, hosts=2), [interface("network", "eth0", 1.03)], [], "network", "over eth0 (103 %"),
        (
            replace(HOST, hosts=2),
            [interface("infiniband", "mlx5_0 port 1", 0.5), interface("infiniband", "mlx5_1 port 1", 0.5)],
            [],
            "network",
            "over InfiniBand mlx5_0 port 1 and mlx5_1 port 1 (100 %",
        ),
        (replace(HOST, hosts=2), QUIET, [], "unknown", "no interface whose counters can be read"),
        (
            replace(AWARE, hosts=2),
            [interface("roce", "mlx5_0 port 1", 1)],
            copies(on_device=0.0),
            "network",
            "without a copy through host memory that the driver counted",
        ),
        (
            replace(AWARE, hosts=2),
            [interface("roce", "mlx5_0 port 1", 1)],
            copies(host_to_device=1, device_to_host=1),
            "staged",
            "staged through host memory",
        ),
    ],
)
def test_verdicts(
    claim: Declaration, wires: list[Counted], copied: list[dict[str, Any]], verdict: str, says: str
) -> None:
    """Protects the sentence that people act upon."""
    found = identify_wire(claim, wires, copied, PAYLOAD)
    assert (found.verdict, says in found.text) == (verdict, True), found


def test_a_claim_that_the_wires_deny() -> None:
    """Protects against a path's own word: NVLink was there, and quiet."""
    found = identify_wire(AWARE, gpu_wires("nvlink", 0) + gpu_wires("pcie", 1), [], PAYLOAD)
    assert found.suspicious == "aware is declared direct, but the counters show no traffic on NVLink"
    assert (
        identify_wire(STAGED, gpu_wires("nvlink", 0) + gpu_wires("pcie", 1), [], PAYLOAD).suspicious is None
    )
    assert identify_wire(AWARE, gpu_wires("nvlink", 1), [], PAYLOAD).suspicious is None


def test_host_data_is_never_staged() -> None:
    """Protects the host's own messages from copies that something else in the process made."""
    loopback = [interface("loopback", "lo", 1)]
    assert (
        identify_wire(HOST, loopback, copies(host_to_device=1, device_to_host=1), PAYLOAD).verdict
        == "loopback"
    )


def test_only_interfaces_that_carried_something_are_named() -> None:
    """Protects the sentence from an interface that a foreign packet crossed: each could have its share."""
    ports = [interface("network", f"eth{n}", share) for n, share in enumerate((0.985, 0.005, 0.025))]
    text = identify_wire(replace(HOST, hosts=2), ports, [], PAYLOAD).text
    assert "over eth0 and eth2 (" in text


def test_what_is_uncertain_may_still_be_nothing() -> None:
    """Protects from traffic in the counters' own uncertainty: it does not make a quiet wire a busy one."""
    uncertain = WireShare("network", 0.05, 0.05, uncertainty=0.04)
    assert uncertain.no_traffic
    assert (
        not replace(uncertain, uncertainty=0.01).no_traffic
        and not replace(uncertain, uncertainty=0.3).no_traffic
    )


def test_few_bytes_say_nothing() -> None:
    """Protects from a verdict on rounding: 8 bytes, counted in KiB."""
    few = [Counted("nvlink", "GPU 0", "n1", 1024, 0, 0, 1024, "GPU-0", 8, 8)]
    found = identify_wire(AWARE, few, [], 16)
    assert (found.verdict, found.suspicious) == (
        "unknown",
        None,
    ) and "traffic below the counters' granularity" in found.text


def test_one_foreign_packet_is_no_traffic_of_ours() -> None:
    """Protects few small messages from being called TCP, because somebody else sent a packet."""
    noisy = Counted("loopback", "lo", "n1", 200, 200, 0, 65536, None, 240, 240)
    assert identify_wire(HOST, [noisy], [], 240).verdict == "unknown"
    quiet = replace(noisy, sent=0, received=0)
    assert identify_wire(HOST, [quiet], [], 240).verdict == "shared memory"


def test_copies_inside_a_rank() -> None:
    """Protects the verdict of copies: over the slot where it counts, by the driver's own count elsewhere."""
    inside = replace(AWARE, path="d2h", intra_rank=True, direct=False)
    slot = [Counted("pcie", "GPU 0", "n1", int(PAYLOAD * 1.09), 0, 0, 1, "GPU-0", PAYLOAD, 0)]
    assert identify_wire(inside, slot, [], PAYLOAD).text == "over PCIe (109 % of the bytes)"
    found = identify_wire(inside, [], copies(device_to_host=1), PAYLOAD)
    assert found.verdict == "copied" and found.text.startswith("copied by the driver (100 %")
    assert identify_wire(inside, [], copies(peer=1), PAYLOAD).verdict == "copied"
    assert identify_wire(inside, [], [], PAYLOAD).verdict == "inside"
    # A kernel that reads the host's memory makes no copy that the driver counts.
    assert identify_wire(replace(inside, crosses=True), [], [], PAYLOAD).verdict == "unknown"


def test_a_copy_that_never_left_the_gpu_is_found_out() -> None:
    """Protects from managed memory that has moved to the GPU: its "copies" are 30 times as fast."""
    managed = replace(AWARE, path="h2d-managed", intra_rank=True, direct=False, crosses=True)
    quiet = [Counted("pcie", "GPU 0", "n1", 0, 0, 0, 1, "GPU-0", 0, PAYLOAD)]
    found = identify_wire(managed, quiet, copies(on_device=1), PAYLOAD)
    assert found.verdict == "copied" and "copied on the GPU by the driver" in found.text
    assert (
        found.suspicious
        and "h2d-managed is declared to cross PCIe, but the counters show no traffic on PCIe"
        in found.suspicious
    )
    busy = [replace(quiet[0], received=PAYLOAD)]
    assert identify_wire(managed, busy, copies(host_to_device=1), PAYLOAD).suspicious is None
    assert identify_wire(replace(managed, crosses=False), [], copies(on_device=1), PAYLOAD).suspicious is None


def test_mixed_buffers_cross_pcie_once() -> None:
    """Protects a path from one GPU to the peer's host memory from being called staged, or inside one GPU."""
    mixed = replace(AWARE, path="aware-d2h", direct=False, crosses=True)
    slots = [Counted("pcie", f"GPU {n}", "n1", PAYLOAD, 0, 0, 1, f"GPU-{n}", PAYLOAD, 0) for n in (0, 1)]
    found = identify_wire(mixed, slots, [], 2 * PAYLOAD)
    assert (found.verdict, found.suspicious) == ("pcie", None)
    assert identify_wire(mixed, [], copies(device_to_host=1), PAYLOAD).verdict == "copied"
    assert identify_wire(mixed, [], [], PAYLOAD).verdict == "unknown"
    silent = [replace(one, sent=0) for one in slots]
    found = identify_wire(mixed, silent, copies(device_to_host=1), PAYLOAD)
    assert found.suspicious and "aware-d2h is declared to cross PCIe" in found.suspicious


def test_only_what_the_verdict_rests_on_is_counted_again() -> None:
    """Protects the user's time: the wire that decided may not stay uncertain, others may."""
    uncertain = [replace(one, background=PAYLOAD // 25) for one in gpu_wires("pcie", 0)]
    sure = identify_wire(AWARE, gpu_wires("nvlink", 1) + uncertain, [], PAYLOAD)
    assert sure.rests_on == "nvlink"
    assert not more_would_help(replace(sure, uncertainties={"nvlink": 0.001, "pcie": 0.9}), 10)
    assert more_would_help(replace(sure, uncertainties={"nvlink": 0.05, "pcie": 0.0}), 10) == pytest.approx(
        2.5 * SPARE
    )
    assert more_would_help(replace(sure, uncertainties={"nvlink": 0.5, "pcie": 0.0}), 10) == 10
    unknown = identify_wire(AWARE, [], [], PAYLOAD)
    assert more_would_help(replace(unknown, uncertainties={"nvlink": 2.0}), 10) and not more_would_help(
        replace(unknown, uncertainties={"nvlink": 30.0}), 10
    )
    assert not more_would_help(
        replace(identify_wire(HOST, QUIET, [], PAYLOAD), uncertainties={"pcie": 30.0, "loopback": 0.1}), 10
    )


def test_exact_copies_are_worth_more_than_uncertain_counters() -> None:
    """Protects small staged messages: commands over PCIe hide them, the driver's own count does not."""
    slot = gpu_wires("pcie", 1.1, background=PAYLOAD // 10)
    both = copies(device_to_host=1, host_to_device=1)
    found = identify_wire(STAGED, slot + gpu_wires("nvlink", 0), both, PAYLOAD)
    assert found.verdict == "staged" and "100 % of the bytes copied to the host" in found.text
    assert found.rests_on is None


def test_orders_to_a_gpu_are_not_taken_for_staging() -> None:
    """Protects a GPU that sends by itself: its orders may be 37 times a small message."""
    few = 2048  # bytes in all: too few for the links' steps
    link = [Counted("nvlink", f"GPU {n}", "n1", 3072, 3072, 0, 1024, f"GPU-{n}", few, few) for n in (0, 1)]
    orders = [{"rank": 0, "device_to_host": {"bytes": 2 * few}, "host_to_device": {"bytes": 37 * few}}]
    assert identify_wire(AWARE, link, orders, few).verdict == "unknown"
    exact = [{"rank": 0, "device_to_host": {"bytes": few}, "host_to_device": {"bytes": few}}]
    found = identify_wire(AWARE, link, exact, few)
    assert (found.verdict, found.rests_on) == ("staged", "nvlink")
    quiet = [replace(one, sent=0, received=0) for one in link]
    assert identify_wire(AWARE, quiet, orders, few).verdict == "staged"


def test_commands_over_pcie_are_no_payload() -> None:
    """Protects small messages that go straight: commands cross PCIe, one way more than the other."""
    link = gpu_wires("nvlink", 2.0)
    half = PAYLOAD // 2
    talk = [
        Counted("pcie", f"GPU {n}", "n1", int(0.15 * half), int(0.8 * half), 0, 1, f"GPU-{n}", half, half)
        for n in (0, 1)
    ]
    assert identify_wire(AWARE, link + talk, [], PAYLOAD).verdict == "direct"
    both = [replace(one, sent=int(0.8 * half)) for one in talk]
    assert identify_wire(AWARE, link + both, [], PAYLOAD).verdict != "direct"


def test_a_busy_wire_says_less() -> None:
    """Protects from other people's traffic: it is subtracted, and the rest has its uncertainty."""
    quiet = identify_wire(AWARE, gpu_wires("nvlink", 1), [], PAYLOAD)
    busy = identify_wire(AWARE, gpu_wires("nvlink", 1, background=PAYLOAD // 25), [], PAYLOAD)
    assert "+/-" not in quiet.text and "+/- 4 %" in busy.text
    drowned = identify_wire(AWARE, gpu_wires("nvlink", 1, background=PAYLOAD), [], PAYLOAD)
    assert drowned.verdict == "unknown"


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
    claim = AWARE if on_device else HOST
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
