"""Limits of wires: the equation, its rate and source, and none where something is not known."""

from __future__ import annotations

from typing import Any

import pytest
from support.golden import Golden
from support.limited import H200, counted, ranks, used, wire

from wirespeed.errors import WirespeedError
from wirespeed.limits import Ceiling, Used, ceiling, rates
from wirespeed.units import parse_rate

MI300X = "AMD Instinct MI300X"
A100 = "NVIDIA A100-SXM4-40GB"
B200 = "NVIDIA B200"
UNKNOWN = "NVIDIA Z1"
HOST: dict[str, Any] = {"memory": "pageable", "name": ""}
FAR: dict[str, Any] = {**HOST, "per_host": 1}
SHARED = {"verdict": "shared memory"}


def told(found: Ceiling | None) -> str:
    if found is None:
        return "no limit"
    ends = f", {found.low / 1e9:.4g} to {found.high / 1e9:.4g}" if found.low and found.high else ""
    more = f"{', stated' if found.stated else ''}{f', cached {found.cached}' if found.cached else ''}"
    return f"{found.rate / 1e9:.4g} GB/s{ends} [{found.wire}{more}] {found.equation}\n    {found.source}"


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


def ports(*names: str, host: str = "n0", rate: float | None = 50e9, **more: Any) -> list[dict[str, Any]]:
    return [wire("infiniband", name, host, rate=rate, **more) for name in names]


def ethernet(**facts: Any) -> list[dict[str, Any]]:
    return [wire("network", "port", host, **{"rate": 1e9, **facts}) for host in ("n0", "n1")]


def changed(one: Used, rank: int = 1, **device: Any) -> Used:
    """With another device of this rank; id=None: without one."""
    found: Any = one.step["ranks"][rank]
    found["device"] = {**found["device"], **device} if device.get("id", "") is not None else None
    return one


def mesh(**lost: Any) -> list[dict[str, Any]]:
    """Four A100s without a switch: four links lead from one to each other."""
    ends = {n: {f"0000:0{peer}:00.0": 4 for peer in range(4) if peer != n} for n in range(4)}
    if lost:
        ends[0].pop("0000:03:00.0")
    return [wire("nvlink", links=12, device=f"G{n}", ends=ends[n]) for n in range(4)]


def meshed(pattern: str, width: int = 1, **lost: Any) -> Used:
    one = used(pattern, count=4, name=A100, width=width, wires=mesh(**lost))
    for n, rank in enumerate(one.step["ranks"]):
        rank["device"]["pci"] = f"0000:0{n}:00.0"
    return one


COPY: dict[str, Any] = {"pattern": "copy", "transport": "copy", "count": 1}
BUSY = seen(("n0", "a", 55, 100), ("n0", "b", 55, 90), ("n1", "a", 110, 100), ("n1", "b", 0, 100))
PLAIN = seen(("n0", "a", 100, 100), ("n1", "a", 100, 100))
TWO = ports("a") + ports("a", host="n1")
SLOW = ports("a", rate=10e9) + ports("a", host="n1", rate=10e9)
SLOTS: tuple[dict[str, Any], ...] = ({"generation": 4, "width": 8}, {"generation": 4}, {"width": 8}, {})
COPIES = {"to_device": 20e9, "to_host": 5e9}
DECLARED = [wire("pcie", "declared", host, rates=COPIES) for host in ("n0", "n1")]
ACROSS: dict[str, Any] = {"per_host": 1, "name": "", "evidence": {**PLAIN, "verdict": "staged"}}
MEMORY = wire("memory", "memory", rate=12e9)
LOOPBACK = wire("loopback", "lo", rate=1e9)
MIXED_PORTS = [wire("infiniband", "port", "n0", rate=50e9), wire("infiniband", "port", "n1", rate=25e9)]
OTHERS = [wire("pcie", rate=1e9, stated=True), wire("nvlink", rate=2e9)]
OTHERS += [wire("nvlink", rate=3e9, stated=True)]
FOUR: dict[str, Any] = {**HOST, "per_host": 2, "count": 4, "wires": MIXED_PORTS}
FOUR |= {"evidence": counted("infiniband")}
CASES: dict[str, dict[str, Used]] = {
    "GPUs by their links": {
        "a pair": used(),
        "a ring": used("ring", count=8),
        "a halo": used("halo", count=4),
        "a group of one": used("groups", count=2, width=1),
        "a group of four": used("groups", count=8, width=4),
        "a stream of two pairs": used("stream", count=4, width=2),
        "one to all": used("fan", count=8),
        "a pair has one sender, and nobody who counted": Used(
            "groups", {"ranks": ranks(2), "memory": "device", "transport": "mpi"}
        ),
        **{f"{n} links up": used(wires=[wire("nvlink", links=n)]) for n in (None, 0, 1, 17, 18, 99)},
        "the GPU with fewer links counts": used(wires=[wire("nvlink", links=18), wire("nvlink", links=12)]),
        "links of another kind are not these": used(wires=[wire("pcie", links=2)]),
        "nor are their ends": used(wires=[wire("pcie", ends={"0000:01:00.0": 4}, device="G0")]),
        "without ends there is no mesh": used(wires=[wire("nvlink", ends={}, device="G0")]),
    },
    "a mesh has one link to each other GPU, not those of a switch": {
        **{
            name: used(name, name=MI300X, count=n, width=w)
            for name, n, w in (
                *(("pingpong", 2, 1), ("groups", 8, 1), ("halo", 8, 1)),
                *(("stream", 4, 2), ("fan", 8, 1), ("ring", 8, 1)),
            )
        },
        "groups of two": used("groups", count=8, width=2, name=MI300X),
        "that the driver tells: pairs": meshed("pairs"),
        "a ring": meshed("ring"),
        "groups of one": meshed("groups"),
        "groups of two of four": meshed("groups", 2),
        "one pair without a link of its own": meshed("pairs", lost=True),
    },
    "GPUs that have no limit together, and what is no pattern of wires": {
        "two ranks share a GPU": changed(used(), id="G0"),
        "the same, with a rate stated": changed(used(wires=[wire("nvlink", rate=1e9, stated=True)]), id="G0"),
        "the same, staged: over slots that are alike": changed(used(transport="staged"), id="G0"),
        "GPUs that differ": changed(used(), name=MI300X),
        "the same, staged": changed(used(transport="staged"), name=MI300X),
        "one rank has none": changed(used(), id=None),
        "a GPU that nobody knows": used(name=UNKNOWN),
        "transfers of a file": used("custom"),
        "no rank": used(count=0),
        "ranks that are not told": Used("pingpong", {"ranks": None}),
    },
    "a rate that is stated, of the wire that is used": {
        "NVLink's": used(wires=OTHERS),
        "another GPU's links are called otherwise": used(
            name=MI300X, wires=[*OTHERS, wire("xgmi", rate=4e9, stated=True)]
        ),
        "of a slot": used(transport="pipelined", wires=[wire("pcie", rate=32e9, stated=True)]),
        "of memory": used(**HOST, wires=[MEMORY | {"stated": True}], evidence=SHARED),
        "of loopback": used(
            **HOST, wires=[MEMORY, LOOPBACK | {"stated": True}], evidence={"verdict": "loopback"}
        ),
        "of loopback, not stated": used(**HOST, wires=[MEMORY, LOOPBACK], evidence={"verdict": "loopback"}),
        "loopback, if nobody knows whether it was used": used(
            **HOST, wires=[MEMORY, LOOPBACK], evidence={"verdict": "unknown"}
        ),
    },
    "through host memory: by what was seen, then by the transport's name": {
        **{
            f"{transport}, seen: {verdict}": used(
                transport=transport, evidence={"verdict": verdict} if verdict else {}
            )
            for verdict in ("direct", "staged", "pcie", "unknown", None)
            for transport in ("mpi", "staged", "pipelined", "nccl")
        },
        "GPUDirect switched off": Used("pingpong", {**used().step, "without": "aware"}),
        "groups of four": used("groups", "staged", count=8, width=4),
        "one rank and all others: its copies overlap": used("fan", "staged", count=4),
        "the same into host memory": used("fan", count=4, into="pageable"),
        **{
            f"a slot of which is known: {facts or 'nothing'}, {name}": used(
                transport="pipelined", name=name, wires=[wire("pcie", **facts)]
            )
            for facts in SLOTS
            for name in (H200, UNKNOWN)
        },
        "a GPU's and its peer's host memory": used(into="pageable"),
        "the other way": used("exchange", memory="pageable", into="device"),
        "the same, where two ranks share one slot": changed(used(into="pageable"), id="G0"),
    },
    "copies": {
        **{
            f"{memory} to {into}": used(**COPY, memory=memory, into=into)
            for memory, into in (
                *(("pinned", "device"), ("device", "pinned"), ("device", "device"), ("device", None)),
                *(("pageable", "pageable"), ("managed", "device"), ("device", "managed")),
                ("managed-host", "device"),
            )
        },
        "both ways": used(**COPY, memory="pinned", into="device", both_ways=True),
        **{
            f"both ways, measured: {known}": used(
                **COPY, name=UNKNOWN, memory="pinned", into="device", both_ways=True, copies=known
            )
            for known in ({"to_device": 5e9, "to_host": 20e9}, COPIES, {"to_host": 5e9})
        },
        **{
            f"{memory} to device of {name or 'no GPU'}{', a slot told' if wires else ''}": used(
                **COPY, name=name, memory=memory, into="device", wires=wires
            )
            for name, memory, wires in (
                ("", "device", []),
                ("", "pinned", [wire("pcie", generation=4, width=8)]),
                (UNKNOWN, "device", []),
                (UNKNOWN, "pinned", []),
            )
        },
        "GPUs that differ": changed(used("copy", "copy", 2, into="device"), name=MI300X),
    },
    "a switch that sums: by a library whose algorithm is not known, no limit of links": {
        f"{transport}, {pattern} of {count} {name}, {variables or 'no variable'}, {how}": used(
            pattern, transport, count, name=name, variables=variables, **more
        )
        for transport, pattern, count, name, variables in (
            ("ccl", "allreduce", 8, H200, {}),
            ("mpi", "allreduce", 4, H200, {"NCCL_ALGO": "Ring,Tree", "NCCL_NVLS_ENABLE": "0"}),
            ("shmem", "allreduce", 8, H200, {}),
            ("ccl", "allreduce", 8, B200, {"NCCL_ALGO": "NVLS,Ring"}),
            ("ccl", "allreduce", 8, H200, {"NCCL_NVLS_ENABLE": "0", "NCCL_COLLNET_ENABLE": "1"}),
            ("shmem", "allreduce", 8, H200, {"NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "0"}),
            # Its algorithm is known.
            ("ccl", "allreduce", 8, H200, {"NCCL_ALGO": "Ring,Tree"}),
            ("ccl", "allreduce", 8, H200, {"NCCL_NVLS_ENABLE": "0"}),
            ("shmem", "allreduce", 8, H200, {"NCCL_NVLS_ENABLE": "0"}),
            ("shmem", "allreduce", 8, H200, {"NVSHMEM_DISABLE_NCCL": "1"}),
            # Each sends all that it has, or what it counts leaves a GPU in any case, or this switch cannot.
            ("ccl", "allreduce", 2, H200, {}),
            ("ccl", "reducescatter", 8, H200, {}),
            ("ccl", "alltoall", 8, H200, {}),
            ("ccl", "allreduce", 8, A100, {}),
        )
        for how, more in (
            ("ours", {}),
            ("the library's", {"by_library": True}),
            (
                "the library's, stated",
                {"by_library": True, "wires": [wire("nvlink", rate=478e9, stated=True)]},
            ),
        )
    },
    "a network that sums: InfiniBand's switches, not Ethernet's": {
        f"{pattern} by {kind}, {'the library' if by_library else 'us'}": used(
            pattern,
            **FAR,
            count=3,
            evidence=counted(kind, hosts=3),
            by_library=by_library,
            wires=[wire(kind, "port", host, rate=50e9) for host in ("n0", "n1", "n2")],
        )
        for kind in ("infiniband", "roce", "network")
        for pattern, by_library in (("allreduce", True), ("allreduce", False), ("allgather", True))
    },
    "between hosts: the ports that carried it, of the slower host, less headers; no guess": {
        "the sum over a host's busy ports": used(
            **FAR, evidence=BUSY, wires=ports("a", "b") + ports("a", "b", host="n1", rate=75e9)
        ),
        "the other host is slower": used(
            **FAR, evidence=BUSY, wires=ports("a", "b") + ports("a", host="n1", rate=400e9)
        ),
        "one is stated": used(
            **FAR,
            evidence=BUSY,
            wires=ports("a") + ports("b", stated=True) + ports("a", host="n1", rate=400e9),
        ),
        "a busy port of one host that nobody knows": used(**FAR, evidence=BUSY, wires=ports("a", "b")),
        "a busy port of each that nobody knows": used(**FAR, evidence=BUSY, wires=TWO),
        "a port without a rate": used(
            **FAR, evidence=counted("infiniband"), wires=[wire("infiniband", "port", "n0")]
        ),
        "nothing was counted": used(**FAR, wires=MIXED_PORTS),
        "1.25 bytes for each one of payload": used(**FAR, wires=MIXED_PORTS, evidence=counted("infiniband")),
        "next to nothing moved": used(**FAR, wires=MIXED_PORTS, evidence=counted("infiniband", moved=1)),
        **{
            f"a port that moved {moved} of {expected}": used(
                **FAR,
                evidence=seen(("n0", "a", moved, expected), ("n1", "a", 100, 100)),
                wires=ports("a") + ports("a", host="n1", rate=400e9),
            )
            for moved, expected in ((10, 100), (11, 100), (0, 0), (1, 0))
        },
        **{
            f"seen: {verdict}": used(**FAR, wires=TWO, evidence={**PLAIN, "verdict": verdict})
            for verdict in ("network", "staged", "shared memory", "unknown")
        },
        "NVLink is no port of a host": used(
            **FAR,
            wires=[wire("nvlink", "port", host, rate=1e9) for host in ("n0", "n1")],
            evidence=counted("nvlink"),
        ),
        "one stream": used("stream", **FAR, wires=TWO, evidence=PLAIN),
        "two streams share a port": used(
            "stream", **HOST, per_host=2, count=4, width=2, wires=TWO, evidence=PLAIN
        ),
        "pairs that are not all between the hosts": used(
            "stream", **HOST, per_host=2, count=4, width=1, wires=TWO, evidence=PLAIN
        ),
        "ranks of a host share its ports": used("pairs", **FOUR),
        "groups that are no whole hosts": used("groups", **FOUR, width=1),
        "groups that are whole hosts": used("groups", **FOUR, width=2),
        **{
            f"TCP, packets of {mtu} B{', stated' if stated else ''}": used(
                **FAR, wires=ethernet(mtu=mtu, stated=stated), evidence=counted("network")
            )
            for mtu in (None, 0, 52, 53, 1500, 9000)
            for stated in (False, True)
        },
    },
    "staged across hosts: 1/b of both copies and the network, or the slowest where they overlap": {
        "one after the other": used(transport="staged", **ACROSS, wires=SLOW + DECLARED),
        "two ranks of a host, over one port": used(
            "groups", "staged", **{**ACROSS, "per_host": 2}, count=4, width=2, wires=SLOW + DECLARED
        ),
        "overlapped": used(transport="pipelined", **ACROSS, wires=SLOW + DECLARED),
        "copies that nobody knows": used(transport="staged", **ACROSS, wires=SLOW),
        "H200s by their slots": used(transport="staged", **{**ACROSS, "name": H200}, wires=SLOW),
        "copies of this file": used(transport="staged", **ACROSS, wires=SLOW, copies=COPIES),
        "copies of one way alone": used(transport="staged", **ACROSS, wires=SLOW, copies={"to_host": 5e9}),
    },
    "a host's memory: measured where it was seen to be used, between two ranks": {
        "measured": used(**HOST, wires=[wire("pcie", rate=1e9), MEMORY], evidence=SHARED),
        "writing is slower": used(**HOST, wires=[MEMORY | {"slower": "writing"}], evidence=SHARED),
        "twice: all between is the interval": used(
            **HOST,
            evidence=SHARED,
            wires=[
                MEMORY | {"low": 11e9, "high": 12.5e9, "caches": 1 << 20},
                MEMORY | {"rate": 10e9, "caches": 8 << 20},
            ],
        ),
        "nothing was seen": used(**HOST, wires=[MEMORY]),
        "nothing was measured": used(**HOST, evidence=SHARED),
        "four ranks": used("exchange", count=4, **HOST, wires=[MEMORY], evidence=SHARED),
    },
}


def test_equations(golden: Golden) -> None:
    """Protects each limit, REQUIREMENTS' equations among them, and from limits that are guessed."""
    texts = {
        title: "\n".join(f"{name}:\n  {told(ceiling(one))}" for name, one in cases.items())
        for title, cases in CASES.items()
    }
    slots = ((3, 16, False), (4, 8, True), (5, 16, True), (2, 16, True))
    texts["payload of a slot"] = "\n".join(
        f"PCIe {n}.0 x{width} {'to' if up else 'from'} it: {told(rates.pcie(n, width, to_device=up))}"
        for n, width, up in slots
    )
    golden("limits/equations", texts)


def test_gpus_in_tables() -> None:
    """Protects the slots that GPUs are made for, and what is not known from a guess."""
    for find in (rates.gpu_links, rates.memory, rates.slot_of, rates.device_links):
        assert find(UNKNOWN) is None
    assert rates.slot_of("Tesla V100-SXM2-16GB") == (3, 16) and rates.slot_of(H200) == (5, 16)


def test_damaged_ranks_have_no_limit() -> None:
    odd = used()
    odd.step["ranks"].append("n1")
    assert len(odd.ranks) == 2 and odd.hosts == ["n0"] and ceiling(odd)
    odd.step["ranks"][0]["device"] = "G0"
    assert len(odd.devices) == 1 and ceiling(odd) is None


def test_a_half_percent_more_than_all_is_rounding() -> None:
    limit = Ceiling(1.0, "1 B/s", "declared", "pcie")
    assert not limit.exceeded(1.005, 8) and limit.exceeded(1.0051, 8)


def test_memories_name_their_caches_and_where_those_are_known_from() -> None:
    """Protects percentages at sizes that caches hold; an H100 has ten of its chip's twelve parts."""
    assert all(one["cache"] and one["cache_source"] for one in rates.table()["memory"])
    h100 = rates.memory("NVIDIA H100 80GB HBM3")
    assert h100 and h100.applies((50 << 20) + 1) and not h100.applies(50 << 20)
    assert "cache" not in h100.source, "a limit's equation is printed with its source"


RATES = {"25GB/s": 25e9, "100Gbit/s": 12.5e9, "1Gbit": 125e6, "12.5 GB/s": 12.5e9}
NO_RATES = {"10Gbps": "write B for bytes or bit for bits"}
NO_RATES |= dict.fromkeys(("", "fast", "1.2.3GB/s", "0GB/s", "-1GB/s", "25"), "is not a rate")


def test_rates() -> None:
    """Protects from a factor of eight: B is a byte, bit is a bit, and b alone is refused."""
    assert {text: parse_rate(text) for text in RATES} == RATES
    for text, why in NO_RATES.items():
        with pytest.raises(WirespeedError, match=why):
            parse_rate(text)
