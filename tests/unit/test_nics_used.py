"""The NICs that ranks used, by libraries' logs and hosts' counters, and which are nearer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import fake_machine
from support.fake_facts import facts_of
from support.golden import Golden
from support.records import console, text_of

from wirespeed.evidence.nics.used import counted_shares, used
from wirespeed.host.pci_topology import cpu_distance
from wirespeed.report.doctor.machine_drawing import draw

MIB = 1 << 20
GPU = "0000:17:00.0"
NEAR, FAR = "mlx5_0 port 1", "mlx5_1 port 1"


def rank(number: int, host: str, pci: str = "") -> dict[str, Any]:
    return {"rank": number, "host": host, "device": {"pci": pci} if pci else None}


def wire(host: str, name: str, kind: str = "infiniband", **more: Any) -> dict[str, Any]:
    return {"host": host, "kind": kind, "name": name, **more}


def counted(host: str, name: str, moved: int, kind: str = "infiniband", **more: Any) -> dict[str, Any]:
    """A NIC of a host whose ranks sent 100 MiB and received as many."""
    sides = {"sent": moved, "received": moved, "expected_sent": 100 * MIB, "expected_received": 100 * MIB}
    return {"host": host, "kind": kind, "name": name, **sides, "background": 0, "granularity": 4, **more}


RANKS = [rank(0, "n1", GPU), rank(1, "n2", GPU.upper())]
WIRES = [
    wire(host, name, pci="0000:18:00.0", distances={GPU: distance})
    for host in ("n1", "n2")
    for name, distance in ((NEAR, "PIX"), (FAR, "SYS"))
]


def both(first: int, second: int) -> list[dict[str, Any]]:
    return [
        counted(host, name, moved) for host in ("n1", "n2") for name, moved in ((NEAR, first), (FAR, second))
    ]


def logged(*names: str, transport: str = "rc_mlx5") -> list[dict[str, Any]]:
    return [{"name": name, "transport": transport} for name in names]


def noted(carried: int, *names: str, **more: Any) -> tuple[Any, ...]:
    """A log of rank 0 with these names, and a NIC near it that carried so much beside the far one."""
    wires = [counted("n1", NEAR, carried, **more), counted("n1", FAR, 100 * MIB)]
    return RANKS, {0: logged(*names)}, WIRES, [*wires, counted("n2", NEAR, 100 * MIB)]


def over_a_bond(name: str) -> tuple[Any, ...]:
    """TCP over a bond, or over a VLAN, whose names in a log lie on top of the NICs."""
    hosts = ("n1", "n2")
    counts = [counted(host, one, 50 * MIB, "network", granularity=1500) for host in hosts for one in "ab"]
    counts += [counted(host, "v", 100 * MIB, "network", granularity=1500) for host in hosts]
    wires = [wire(host, one, "network", pci="0000:18:00.0") for host in hosts for one in "ab"]
    return RANKS, dict.fromkeys((0, 1), logged(name, transport="tcp")), wires, counts


THREE = [rank(0, "n1"), rank(1, "n1"), rank(2, "n2")]
CPU_RANKS = [rank(0, "n1") | {"cpus": "0-7"}, rank(1, "n2") | {"cpus": "0-7"}]
BY_CPUS = [
    wire(host, f"mlx5_{number} port 1", pci=f"0000:{number}8:00.0", near="8-15" if number else "0-7")
    for host in ("n1", "n2")
    for number in range(4)
]
IB = [{"name": "mlx5_0:1", "transport": "IB", "gpudirect": True}]
CASES: dict[str, tuple[Any, ...]] = {
    "counters alone": (RANKS, {}, WIRES, both(100 * MIB, 0)),
    "rails: most first, each with its own distance": (RANKS, {}, WIRES, both(25 * MIB, 75 * MIB)),
    "a log adds GPUDirect RDMA, and an unused rail is not told": (
        RANKS,
        {0: [*IB, {"name": "mlx5_1:1", "transport": "IB", "gpudirect": False}]},
        WIRES,
        both(100 * MIB, MIB),
    ),
    "a log alone": (RANKS, dict.fromkeys((0, 1), logged("rdmap16s27:1", transport="srd")), [], []),
    "two ranks share a host's NICs": (THREE, {}, WIRES, both(50 * MIB, 50 * MIB)),
    "they can have used only one": (THREE, {}, WIRES, both(100 * MIB, 0)),
    "their logs name one each": (
        THREE,
        {0: logged("mlx5_0:1"), 1: logged("mlx5_1:1")},
        WIRES,
        both(50 * MIB, 50 * MIB),
    ),
    "a log names a NIC whose counters stood still": (
        RANKS,
        dict.fromkeys((0, 1), logged("mlx5_0:1")),
        WIRES,
        both(0, 100 * MIB),
    ),
    "TCP over a bond is no contradiction": over_a_bond("bond0"),
    "TCP over a VLAN is none": over_a_bond("v"),
    "IP over InfiniBand is none": (
        RANKS,
        {0: logged("ib0", transport="tcp")},
        WIRES,
        [*both(100 * MIB, 0), counted("n1", "ib0", 100 * MIB, "network")],
    ),
    "a rank of no GPU uses four NICs, of which three lie at the other socket": (
        CPU_RANKS,
        {},
        BY_CPUS,
        [
            counted(one["host"], one["name"], 100 * MIB)
            for one in BY_CPUS
            if one["host"] == "n2" or one["near"] == "0-7"
        ],
    ),
    "one that may run at both sockets is near to none": (
        [{**one, "cpus": "0-15"} for one in CPU_RANKS],
        {},
        BY_CPUS,
        [counted(one["host"], one["name"], 100 * MIB) for one in BY_CPUS],
    ),
    "one host needs no NIC": (THREE[:2], {0: logged("eth0")}, WIRES, both(100 * MIB, 0)),
    # From crying wolf: it carried more than 2 %, or another one that is named is not counted.
    "2 % are nothing": noted(2 * MIB, "mlx5_0:1"),
    "3 % are something": noted(3 * MIB, "mlx5_0:1"),
    "4 % of others are nothing": noted(4 * MIB, "mlx5_0:1", background=4 * MIB),
    "one of two names is not counted": noted(0, "mlx5_0:1", "mlx5_9:1"),
    "one of two names is right": noted(0, "mlx5_0:1", "mlx5_1:1"),
    "no name": noted(0),
}


def test_used(golden: Golden) -> None:
    """Protects who used which NIC: by counters, by logs and by both, and where they differ."""

    def told(*case: Any) -> str:
        found, differ = used(*case)
        lines = [f"rank {one['rank']} on {one['host']}, by {', '.join(one['by'])}" for one in found]
        nics = ["".join(f"\n    {nic}" for nic in one["nics"]) for one in found]
        return "\n".join([*map("".join, zip(lines, nics, strict=True)), differ or "no contradiction"])

    golden("evidence/nics_used", {title: told(*case) for title, case in CASES.items()})


def test_the_bounds_of_what_counters_tell() -> None:
    """Protects each limit: half of the payload, a quarter of it uncertain, a NIC with 2 % of the traffic."""
    due = 200 * MIB

    def one(moved: int, **more: Any) -> dict[str, float]:
        return counted_shares("n1", [], [counted("n1", "eth0", moved, "network", **more)])

    assert one(50 * MIB) == {"eth0": 1.0}
    assert one(50 * MIB - 1) == one(MIB) == one(200 * MIB, background=150 * MIB) == {}
    assert one(200 * MIB, background=due // 4 - 8) == {"eth0": 1.0}
    assert one(200 * MIB, background=due // 4 - 7) == {}
    # Background is no traffic of ours.
    assert one(60 * MIB, background=30 * MIB) == {}
    assert one(60 * MIB, background=20 * MIB) == {"eth0": 1.0}
    pair = [counted("n1", "a", 98 * MIB, "network"), counted("n1", "b", 2 * MIB, "network")]
    assert counted_shares("n1", [], pair) == {"a": 0.98}
    pair[1]["sent"] += 8
    assert [*counted_shares("n1", [], pair)] == ["a", "b"]
    # Other hosts' counters, and wires that lead to no other host, are not this host's NICs.
    others = [counted("n2", "eth0", 100 * MIB, "network")]
    others += [counted("n1", "GPU 0", 100 * MIB, "nvlink"), counted("n1", "lo", 100 * MIB, "loopback")]
    assert counted_shares("n1", [], others) == {}
    assert counted_shares("n1", [], [*others, counted("n1", "eth1", 100 * MIB, "network")]) == {"eth1": 1.0}


def test_cpus_near_a_nic_and_far_from_it() -> None:
    near = [cpu_distance(range(8), cpus) for cpus in (range(8), range(4, 12), range(8, 9), ())]
    assert near == ["NODE", "", "SYS", ""]


def test_the_adapter_nearest_to_each_gpu(tmp_path: Path) -> None:
    """Protects the doctor's drawing, which names it before anything is measured."""
    root = fake_machine.tree(tmp_path, adapters=False)
    for node, cpus in ((0, "0-3"), (1, "4-7")):
        gpu = f"{fake_machine.GPUS[node][:-4]}1f.0"
        fake_machine.pci_device(root, fake_machine.NICS[node], node, cpus, bridge=gpu)
        fake_machine.adapter(root, f"mlx5_{node}", fake_machine.NICS[node])
    found = facts_of(root)
    assert [(gpu.nearest, gpu.distance) for gpu in found.gpus] == [(("mlx5_0",), "PIX"), (("mlx5_1",), "PIX")]
    screen = console(100)
    draw(screen, found)
    assert "nearest adapter mlx5_1 (PIX)" in " ".join(text_of(screen).replace("│", " ").split())
