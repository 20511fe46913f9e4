"""Limits between hosts and inside a host's memory: what was seen on which wire, and the equation."""

from __future__ import annotations

from typing import Any

import pytest
from support.limited import counted, used, wire
from support.records import as_read, entry, step

from wirespeed.limits import ceiling
from wirespeed.results.runs import collect

HOST: dict[str, Any] = {"memory": "pageable", "name": ""}
FAR: dict[str, Any] = {**HOST, "per_host": 1}


def seen(*wires: tuple[str, str, int, int], verdict: str = "network") -> dict[str, Any]:
    """Evidence from (host, name, bytes each way, payload each way)."""
    return {
        "verdict": verdict,
        "wires": [
            {"kind": "infiniband", "host": host, "name": name, "sent": moved, "received": moved}
            | {"expected_sent": expected, "expected_received": expected}
            for host, name, moved, expected in wires
        ],
    }


def ports(*names: str, host: str = "n0", rate: float = 50e9, **more: Any) -> list[dict[str, Any]]:
    return [wire("infiniband", name, host, rate=rate, **more) for name in names]


def test_ports_of_a_host_together() -> None:
    """Protects the sum over a host's busy ports: 100 of 110 bytes are payload, and n1 is the slower host."""
    evidence = seen(("n0", "a", 55, 100), ("n0", "b", 55, 90), ("n1", "a", 110, 100), ("n1", "b", 0, 100))
    told = ports("a", "b") + ports("a", "b", host="n1", rate=75e9)
    found = ceiling(used(**FAR, wires=told, evidence=evidence))
    assert found and found.rate == pytest.approx(75e9 / 1.1) and found.wire == "network"
    assert found.equation == "a 75 GB/s x 0.909 payload = 68.18 GB/s out of n1"
    assert found.source == "rate as the driver states it" and not found.stated
    faster = ports("a", "b") + ports("a", host="n1", rate=400e9)
    found = ceiling(used(**FAR, wires=faster, evidence=evidence))
    assert found and found.rate == pytest.approx(100e9 / 1.1)
    assert found.equation == "a 50 GB/s x 0.909 payload + b 50 GB/s x 0.909 payload = 90.91 GB/s out of n0"
    stated = ports("a") + ports("b", stated=True) + ports("a", host="n1", rate=400e9)
    found = ceiling(used(**FAR, wires=stated, evidence=evidence))
    assert found and found.stated and found.source == "rate stated with --link"
    # A busy port of one host that nobody knows: no limit at all.
    assert ceiling(used(**FAR, wires=ports("a", "b"), evidence=evidence)) is None
    half = ports("a") + ports("a", host="n1")
    assert ceiling(used(**FAR, wires=half, evidence=evidence)) is None


def test_pairs_of_a_stream_share_the_ports_of_their_hosts() -> None:
    """Protects the limit of many pairs: that of the port, once, and it says that they share it."""
    evidence = seen(("n0", "a", 100, 100), ("n1", "a", 100, 100))
    four = {**HOST, "per_host": 2, "count": 4, "wires": ports("a") + ports("a", host="n1")}
    found = ceiling(used("stream", **four, width=2, evidence=evidence))
    assert found and found.rate == 50e9
    assert found.equation == "a 50 GB/s x 1.000 payload = 50 GB/s out of n0, shared by 2 pairs"
    # Pairs that are not all between the hosts share no port alike.
    assert ceiling(used("stream", **four, width=1, evidence=evidence)) is None


def test_staging_across_hosts_takes_three_parts() -> None:
    """Protects the tester's equation, 1/b = 1/b_D2H + 1/b_net + 1/b_H2D, from being the port's rate alone."""
    evidence = seen(("n0", "a", 100, 100), ("n1", "a", 100, 100), verdict="staged")
    far: dict[str, Any] = {"per_host": 1, "evidence": evidence, "name": ""}
    port = ports("a", rate=10e9) + ports("a", host="n1", rate=10e9)
    declared = [
        wire("pcie", "declared", host, rates={"to_device": 20e9, "to_host": 5e9}) for host in ("n0", "n1")
    ]
    found = ceiling(used(transport="staged", **far, wires=port + declared))
    assert found and found.rate == pytest.approx(1 / (1 / 5e9 + 1 / 10e9 + 1 / 20e9))
    assert found.equation == (
        "b = 2.857 GB/s, one after the other: 1/b = 1/b_D2H + 1/b_net + 1/b_H2D of 5, 10, 20 GB/s "
        "(5 GB/s; a 10 GB/s x 1.000 payload = 10 GB/s out of n0)"
    )
    # Two ranks of a host copy at once, over the same port.
    group = {**far, "per_host": 2, "count": 4, "width": 2}
    found = ceiling(used("groups", "staged", **group, wires=port + declared))
    assert found and found.rate == pytest.approx(1 / (1 / 10e9 + 1 / 10e9 + 1 / 40e9))
    # Where parts overlap, the slowest one counts; what nobody knows leaves the port's rate.
    assert ceiling(used(transport="pipelined", **far, wires=port + declared)).rate == 5e9  # type: ignore[union-attr]
    assert ceiling(used(transport="staged", **far, wires=port)).rate == 10e9  # type: ignore[union-attr]
    # H200s by their slots.
    found = ceiling(used(transport="staged", per_host=1, evidence=evidence, wires=port))
    assert found and found.rate == pytest.approx(1 / (2 / 57.9e9 + 1 / 10e9), rel=0.01)
    measured = used(transport="staged", **far, wires=port, copies={"to_device": 20e9, "to_host": 5e9})
    found = ceiling(measured)
    assert (
        found and found.rate == pytest.approx(1 / 0.35e-9) and "the fastest copy in this file" in found.source
    )


def test_copies_of_the_same_file_bound_staging() -> None:
    """Protects a GPU whose slot nobody knows: what its copies reached, in another run of the file."""
    places = [
        {"rank": n, "host": "n1", "device": {"kind": "cuda", "name": "GPU", "id": f"{n}"}} for n in (0, 1)
    ]
    begun = {"kind": "run", "plan": {"pattern": "copy", "ranks": 2}, "run": "c"}
    lines: list[dict[str, Any]] = [begun]
    for path, memory, into, seconds in (
        ("h2d-pinned", "pinned", "device", 1e-3),
        ("d2h-pinned", "device", "pinned", 2e-3),
    ):
        lines.append(
            {**step(path, ranks=places), "transport": "copy", "memory": memory, "into": into, "run": "c"}
        )
        lines.append({**entry(path, 10**6, seconds), "pattern": "copy", "run": "c"})
    lines.append({**begun, "plan": {"pattern": "pingpong", "ranks": 2}, "run": "p"})
    lines.append({**step("staged", ranks=places), "transport": "staged", "memory": "device", "run": "p"})
    lines.append({**entry("staged", 10**6, 5e-3), "run": "p"})
    found = collect(as_read(lines))[1].ceiling("staged")
    assert found and found.rate == pytest.approx(1 / (1 / 1e9 + 1 / 0.5e9))


@pytest.mark.parametrize(("moved", "busy"), [(10, False), (11, True)])
def test_a_port_is_busy_above_a_tenth(moved: int, busy: bool) -> None:
    evidence = seen(("n0", "a", moved, 100), ("n1", "a", 100, 100))
    told = ports("a") + ports("a", host="n1", rate=400e9)
    found = ceiling(used(**FAR, wires=told, evidence=evidence))
    # Less moved than there was payload: no share above all of it.
    assert (found.rate if found else None) == (50e9 if busy else None)


def test_a_port_of_which_nothing_was_expected() -> None:
    """Protects from a division: what did not move is not busy, and what did has no payload in it."""
    for moved, limit in ((0, None), (1, 0.0)):
        evidence = seen(("n0", "a", moved, 0), ("n1", "a", 100, 100))
        found = ceiling(used(**FAR, wires=ports("a") + ports("a", host="n1"), evidence=evidence))
        assert (found.rate if found else None) == limit


def test_between_hosts_only_what_was_seen_on_their_wires() -> None:
    told = ports("a") + ports("a", host="n1")
    for verdict, known in (("network", True), ("staged", True), ("shared memory", False), ("unknown", False)):
        evidence = seen(("n0", "a", 100, 100), ("n1", "a", 100, 100), verdict=verdict)
        assert (ceiling(used(**FAR, wires=told, evidence=evidence)) is not None) == known
    # NVLink is no port of a host.
    evidence = counted("nvlink")
    nvlink = [wire("nvlink", "port", host, rate=1e9) for host in ("n0", "n1")]
    assert ceiling(used(**FAR, wires=nvlink, evidence=evidence)) is None


@pytest.mark.parametrize(
    ("mtu", "share"), [(None, 1.0), (0, 1.0), (52, 1.0), (53, 1 / 91), (1500, 1448 / 1538)]
)
def test_payload_of_tcp(mtu: int | None, share: float) -> None:
    """52 bytes of IP, TCP and time stamp in a packet; 14 + 24 bytes of Ethernet around it."""
    told = [wire("network", "port", host, rate=1e9, mtu=mtu) for host in ("n0", "n1")]
    found = ceiling(used(**FAR, wires=told, evidence=counted("network")))
    assert found and found.rate == pytest.approx(1e9 * share)


def test_memory_of_a_host() -> None:
    shared = {"verdict": "shared memory"}
    told = wire("memory", "memory", rate=12e9)
    found = ceiling(used(**HOST, wires=[wire("pcie", rate=1e9), told], evidence=shared))
    assert found and found.equation == "one core copying from memory to memory = 12.0 GB/s"
    found = ceiling(used(**HOST, wires=[told | {"slower": "writing"}], evidence=shared))
    assert found and found.equation == "one core writing = 12.0 GB/s"
    assert found.source == "measured here before the counted iterations, with buffers beyond the caches"
    found = ceiling(used(**HOST, wires=[told | {"stated": True}], evidence=shared))
    assert found and found.equation == "copies in memory = 12 GB/s, stated"
    # Measured for several paths of a run: what lies between all of them is the interval.
    twice = [
        told | {"low": 11e9, "high": 12.5e9, "caches": 1 << 20},
        told | {"rate": 10e9, "caches": 8 << 20},
    ]
    found = ceiling(used(**HOST, wires=twice, evidence=shared))
    assert found and (found.rate, found.low, found.high, found.cached) == (12e9, 10e9, 12.5e9, 8 << 20)
    assert found.equation == "one core copying from memory to memory = 12.0 GB/s (10.0 to 12.5)"


def test_loopback_has_the_limit_that_is_stated() -> None:
    loopback = {"verdict": "loopback"}
    told = [wire("memory", "memory", rate=12e9), wire("loopback", "lo", rate=1e9)]
    assert ceiling(used(**HOST, wires=told, evidence=loopback)) is None
    stated = [told[0], told[1] | {"stated": True}]
    found = ceiling(used(**HOST, wires=stated, evidence=loopback))
    assert found and found.equation == "1 GB/s, stated"
    assert ceiling(used(**HOST, wires=told, evidence={"verdict": "unknown"})) is None
