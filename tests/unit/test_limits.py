"""Limits: the equation that fits the wires that were used, and none where something is not known."""

from __future__ import annotations

from typing import Any

import pytest
from support.limited import H200, counted, rate, used, wire

from wirespeed.errors import WirespeedError
from wirespeed.limits import Used, ceiling
from wirespeed.units import parse_rate


def test_links_between_gpus() -> None:
    """Protects REQUIREMENTS' equations: a GPU's links, times the GPUs of a group."""
    assert rate(ceiling(used())) == 450.0
    assert rate(ceiling(used("groups", count=8, width=4))) == 1800.0
    assert rate(ceiling(used("ring", count=8))) == rate(ceiling(used("halo", count=8))) == 450.0
    found = ceiling(used("groups", count=8, width=4))
    assert found and "4 x 18 NVLink 4 links x 25 GB/s = 1800 GB/s out of a group" in found.equation


NCCL, MPI = "ccl", "mpi"
RING, NO_NVLS = {"NCCL_ALGO": "Ring,Tree"}, {"NCCL_NVLS_ENABLE": "0"}
A100 = "NVIDIA A100-SXM4-40GB"


@pytest.mark.parametrize(
    ("transport", "pattern", "count", "name", "variables", "limited"),
    [
        (NCCL, "allreduce", 8, H200, {}, False),
        (MPI, "allreduce", 4, H200, RING | NO_NVLS, False),
        ("shmem", "allreduce", 8, H200, {}, False),
        (NCCL, "allreduce", 8, "NVIDIA B200", {"NCCL_ALGO": "NVLS,Ring"}, False),
        (NCCL, "allreduce", 8, H200, NO_NVLS | {"NCCL_COLLNET_ENABLE": "1"}, False),
        ("shmem", "allreduce", 8, H200, NO_NVLS | {"NVSHMEM_DISABLE_NVLS": "0"}, False),
        # Its algorithm is known.
        (NCCL, "allreduce", 8, H200, RING, True),
        (NCCL, "allreduce", 8, H200, NO_NVLS, True),
        ("shmem", "allreduce", 8, H200, NO_NVLS, True),
        ("shmem", "allreduce", 8, H200, {"NVSHMEM_DISABLE_NCCL": "1"}, True),
        # Each sends all that it has, or what it counts leaves a GPU in any case, or this switch cannot.
        (NCCL, "allreduce", 2, H200, {}, True),
        (NCCL, "reducescatter", 8, H200, {}, True),
        (NCCL, "alltoall", 8, H200, {}, True),
        (NCCL, "allreduce", 8, A100, {}, True),
    ],
)
def test_a_switch_that_sums(
    transport: str, pattern: str, count: int, name: str, variables: dict[str, str], limited: bool
) -> None:
    """Protects NCCL's bus bandwidth over NVLink SHARP from the limit of a link, which less has passed."""
    library = used(pattern, transport, count, name=name, by_library=True, variables=variables)
    assert (ceiling(library) is not None) == limited
    ours = used(pattern, transport, count, name=name, variables=variables)
    assert rate(ceiling(ours)) == {H200: 450.0, A100: 300.0, "NVIDIA B200": 900.0}[name]
    # Nor with a rate that the user states: it would be that of a link.
    stated = [wire("nvlink", rate=478e9, stated=True)]
    again = used(pattern, transport, count, name=name, by_library=True, variables=variables, wires=stated)
    assert (ceiling(again) is not None) == limited


@pytest.mark.parametrize(("kind", "limited"), [("infiniband", False), ("roce", True), ("network", True)])
def test_a_network_that_sums(kind: str, limited: bool) -> None:
    """Protects SHARP's bus bandwidth from the rate of a port; Ethernet's switches sum nothing."""
    ports = [wire(kind, "port", host, rate=50e9) for host in ("n0", "n1", "n2")]
    seen = counted(kind, hosts=3)
    far: dict[str, Any] = {"memory": "pageable", "name": "", "count": 3, "per_host": 1, "wires": ports}
    found = ceiling(used("allreduce", **far, evidence=seen, by_library=True))
    assert (found is not None) == limited
    assert ceiling(used("allreduce", **far, evidence=seen))
    assert ceiling(used("allgather", **far, evidence=seen, by_library=True))


def test_links_that_are_down_carry_nothing() -> None:
    """Protects from a limit that this machine cannot reach; says what is down."""
    found = ceiling(used(wires=[wire("nvlink", links=18), wire("nvlink", links=12)]))
    assert rate(found) == 300.0 and found and "12 of 18 NVLink 4 links x 25 GB/s" in found.equation


def test_a_mesh_has_one_link_to_each_other_gpu() -> None:
    """Protects AMD's boxes from the limit of a switch."""
    name = "AMD Instinct MI300X"
    assert rate(ceiling(used(name=name))) == 64.0
    assert rate(ceiling(used("groups", count=8, width=1, name=name))) == 448.0
    assert ceiling(used("halo", count=8, name=name)) is None


def test_a_mesh_that_the_driver_tells() -> None:
    """Protects boxes of four A100 without a switch: four links lead from one to each other."""
    name = "NVIDIA A100-SXM4-40GB"
    pci = [f"0000:0{n}:00.0" for n in range(4)]
    ends = [
        wire("nvlink", links=12, device=f"G{n}", ends={pci[peer]: 4 for peer in range(4) if peer != n})
        for n in range(4)
    ]
    four = used("pairs", count=4, name=name, wires=ends)
    for rank, address in zip(four.step["ranks"], pci, strict=True):
        rank["device"]["pci"] = address
    assert rate(ceiling(four)) == 100.0
    assert rate(ceiling(Used("ring", four.step, wires=ends))) == 100.0
    assert rate(ceiling(Used("groups", four.step, 1, ends))) == 300.0
    assert rate(ceiling(Used("groups", four.step, 2, ends))) == 200.0
    # One pair without a link of its own: what carries its bytes is not known.
    ends[0]["ends"].pop(pci[3])
    assert ceiling(Used("pairs", four.step, wires=ends)) is None


def test_staging() -> None:
    """Protects 1/b = 1/b_D2H + 1/b_H2D; pipelined, the slower of both; payload, not packets."""
    down, up = 63.015 * 256 / 280, 63.015 * 256 / 276
    assert rate(ceiling(used(transport="staged"))) == round(1 / (1 / down + 1 / up), 1)
    assert rate(ceiling(used(transport="pipelined"))) == round(down, 1)
    slot = [wire("pcie", generation=4, width=8)]
    assert rate(ceiling(used(transport="pipelined", wires=slot))) == round(8 * 1.969231 * 256 / 280, 1)


def test_what_was_seen_counts_more_than_what_the_path_is_called() -> None:
    """Protects the percentage of an MPI that stages in secret: it is that of the wire it used."""
    secret = used(evidence={"verdict": "staged"})
    assert rate(ceiling(secret)) == rate(ceiling(used(transport="pipelined")))
    assert rate(ceiling(used(evidence={"verdict": "direct"}))) == 450.0


def test_with_gpudirect_switched_off_nothing_goes_straight() -> None:
    """Protects the percent of what GPUDirect is compared with, in files where nobody counted."""
    plain = used()
    switched = Used(plain.pattern, {**plain.step, "without": "aware"})
    assert rate(ceiling(switched)) == rate(ceiling(used(transport="pipelined")))


def test_copies() -> None:
    """Protects the direction: packets to a device carry less around them than packets from it."""
    to, out = used("copy", "copy", 1, memory="pinned", into="device"), used("copy", "copy", 1, into="pinned")
    assert (rate(ceiling(to)), rate(ceiling(out))) == (58.4, 57.6)
    assert rate(ceiling(used("copy", "copy", 1, into="device"))) == 2400.0
    assert ceiling(used("copy", "copy", 1, memory="pageable", into="pageable")) is None
    # Managed memory lies on either side of the slot, unless it was told to stay in the host's.
    assert ceiling(used("copy", "copy", 1, memory="managed", into="device")) is None
    assert rate(ceiling(used("copy", "copy", 1, memory="managed-host", into="device"))) == 58.4


def test_mixed_buffers() -> None:
    """Protects a path between a GPU and its peer's host memory from the limit of the GPUs' links."""
    assert rate(ceiling(used(into="pageable"))) == 57.6
    assert rate(ceiling(used("exchange", memory="pageable", into="device"))) == 58.4
    shared = used(into="pageable")
    shared.step["ranks"][1]["device"]["id"] = "G0"
    assert ceiling(shared) is None, "two ranks share one slot"


def test_networks() -> None:
    """Protects the limit across hosts: the ports that carried it, the slower host, and no guess."""
    ports = [wire("infiniband", "port", "n0", rate=50e9), wire("infiniband", "port", "n1", rate=25e9)]
    two: dict[str, Any] = {"memory": "pageable", "name": "", "per_host": 1}
    seen = counted("infiniband")
    # These ports count headers: 1.25 bytes for each byte of payload.
    assert rate(ceiling(used(**two, wires=ports, evidence=seen))) == 20.0
    assert ceiling(used(**two, wires=ports, evidence=counted("infiniband", moved=1))) is None
    assert ceiling(used(**two, wires=[wire("infiniband", "port", "n0")], evidence=seen)) is None
    assert ceiling(used(**two, wires=ports)) is None
    # Several ranks of a host share its ports: only whole hosts as groups have a limit.
    four: dict[str, Any] = {**two, "per_host": 2, "count": 4, "wires": ports, "evidence": seen}
    assert ceiling(used("pairs", **four)) is None
    assert ceiling(used("groups", **four, width=1)) is None
    assert rate(ceiling(used("groups", **four, width=2))) == 20.0


@pytest.mark.parametrize(("mtu", "share"), [(1500, 1448 / 1538), (9000, 8948 / 9038)])
def test_tcp_over_ethernet(mtu: int, share: float) -> None:
    """Protects the percent of a network: headers take their part of each packet, the wire's own gap too."""
    ports = [wire("network", "port", host, rate=125e8, mtu=mtu) for host in ("n0", "n1")]
    two: dict[str, Any] = {"memory": "pageable", "name": "", "per_host": 1}
    found = ceiling(used(**two, wires=ports, evidence=counted("network")))
    assert found and found.rate == pytest.approx(125e8 * share)
    stated = [port | {"stated": True} for port in ports]
    found = ceiling(used(**two, wires=stated, evidence=counted("network")))
    assert found and found.rate == pytest.approx(125e8 * (mtu - 52) / (mtu + 14))


def test_host_memory_is_measured_not_known() -> None:
    """Protects the host path's percentage: only where it was seen to go through memory, between two ranks."""
    memory = [wire("memory", "memory", rate=12e9)]
    seen = {"verdict": "shared memory"}
    host: dict[str, Any] = {"memory": "pageable", "name": ""}
    found = ceiling(used(**host, wires=memory, evidence=seen))
    assert rate(found) == 12.0 and found and "measured here" in found.source
    assert ceiling(used(**host, wires=memory)) is None
    assert ceiling(used(**host, evidence=seen)) is None
    assert ceiling(used("exchange", count=4, **host, wires=memory, evidence=seen)) is None


def test_a_stated_rate_wins() -> None:
    """Protects --link: what the user states is the limit, and is said to be stated."""
    found = ceiling(used(wires=[wire("nvlink", rate=100e9, stated=True, links=18)]))
    assert rate(found) == 100.0 and found and "100 GB/s, stated" in found.equation
    assert rate(ceiling(used(transport="pipelined", wires=[wire("pcie", rate=32e9, stated=True)]))) == 32.0
    host: dict[str, Any] = {"memory": "pageable", "name": ""}
    memory = [wire("memory", "memory", rate=30e9, stated=True)]
    found = ceiling(used(**host, wires=memory, evidence={"verdict": "shared memory"}))
    assert rate(found) == 30.0 and found and "measured" not in found.source
    loopback = [wire("loopback", "lo", rate=1e9, stated=True)]
    assert rate(ceiling(used(**host, wires=loopback, evidence={"verdict": "loopback"}))) == 1.0


def test_a_limit_knows_its_wire() -> None:
    """Protects the reason that is given for a figure above its limit."""
    host: dict[str, Any] = {"memory": "pageable", "name": ""}
    memory, loopback = wire("memory", "memory", rate=12e9), wire("loopback", "lo", rate=1e9, stated=True)
    ports = [wire("network", "port", name, rate=1e9, mtu=1500) for name in ("n0", "n1")]
    far: dict[str, Any] = {**host, "per_host": 1, "evidence": counted("network")}
    slot = [wire("pcie", rate=32e9, stated=True)]
    seen = {"verdict": "shared memory"}
    limits = [
        (used(), "nvlink", False),
        (used("groups", count=8, width=4), "nvlink", False),
        (used(name="AMD Instinct MI300X"), "xgmi", False),
        (used(wires=[wire("nvlink", rate=100e9, stated=True)]), "nvlink", True),
        (used(transport="staged"), "pcie", False),
        (used(transport="pipelined"), "pcie", False),
        (used(transport="staged", wires=slot), "pcie", True),
        (used("copy", "copy", 1, into="device"), "device memory", False),
        (used("copy", "copy", 1, memory="pinned", into="device"), "pcie", False),
        (used(**host, wires=[memory], evidence=seen), "memory", False),
        (used(**host, wires=[memory | {"stated": True}], evidence=seen), "memory", True),
        (used(**host, wires=[loopback], evidence={"verdict": "loopback"}), "loopback", True),
        (used(**far, wires=ports), "network", False),
        (used(**far, wires=[port | {"stated": True} for port in ports]), "network", True),
    ]
    for one, kind, stated in limits:
        found = ceiling(one)
        assert found and (found.wire, found.stated) == (kind, stated)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("25GB/s", 25e9), ("100Gbit/s", 12.5e9), ("1Gbit", 125e6), ("12.5 GB/s", 12.5e9), ("10Gbps", 0)],
)
def test_rates(text: str, rate: float) -> None:
    """Protects from a factor of eight: B is a byte, bit is a bit, and b alone is refused."""
    if rate:
        assert parse_rate(text) == rate
        return
    with pytest.raises(WirespeedError, match="write B for bytes or bit for bits"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["", "fast", "1.2.3GB/s", "0GB/s", "-1GB/s", "25"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(WirespeedError, match="is not a rate"):
        parse_rate(text)
