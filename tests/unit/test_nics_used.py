"""The NICs that ranks used: libraries' logs and hosts' counters together."""

from __future__ import annotations

from typing import Any

from wirespeed.evidence.nics.used import counted_shares, used

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


def test_counters_alone() -> None:
    """Protects the first answer: no log is there, and the counters of a host with one rank name its NIC."""
    found, differ = used(RANKS, {}, WIRES, both(100 * MIB, 0))
    nic = {"name": "mlx5_0:1", "share": 1.0, "distance": "PIX"}
    assert found == [
        {"rank": number, "host": host, "nics": [nic], "by": ["counters"]}
        for number, host in enumerate(("n1", "n2"))
    ]
    assert differ is None


def test_rails() -> None:
    """Protects the shares of several NICs, most first, each with its own distance."""
    (first, _), _ = used(RANKS, {}, WIRES, both(25 * MIB, 75 * MIB))
    assert first["nics"] == [
        {"name": "mlx5_1:1", "share": 0.75, "distance": "SYS"},
        {"name": "mlx5_0:1", "share": 0.25, "distance": "PIX"},
    ]


def test_what_a_log_adds() -> None:
    """Protects the transport and GPUDirect RDMA, and a connection's unused rail from being told as used."""
    said = [
        {"name": "mlx5_0:1", "transport": "IB", "gpudirect": True},
        {"name": "mlx5_1:1", "transport": "IB", "gpudirect": False},
    ]
    (first, second), differ = used(RANKS, {0: said}, WIRES, both(100 * MIB, MIB))
    assert first["nics"] == [{**said[0], "share": round(100 / 101, 4), "distance": "PIX"}]
    assert first["by"] == ["counters", "log"]
    assert second["by"] == ["counters"]
    assert differ is None


def test_a_log_alone() -> None:
    """Protects hosts whose NICs have no counters: the log's names stay, without shares."""
    said = [{"name": "rdmap16s27:1", "transport": "srd"}]
    found, differ = used(RANKS, {0: said, 1: said}, [], [])
    assert [one["nics"] for one in found] == [said, said]
    assert [one["by"] for one in found] == [["log"], ["log"]]
    assert differ is None


def test_ranks_that_share_a_hosts_nics() -> None:
    """Protects against a rank's share that nobody knows: counters are the host's, and say so."""
    ranks = [rank(0, "n1"), rank(1, "n1"), rank(2, "n2")]
    found, _ = used(ranks, {}, WIRES, both(50 * MIB, 50 * MIB))
    assert [one["by"] for one in found] == [["counters of its host"], ["counters of its host"], ["counters"]]
    found, _ = used(ranks, {}, WIRES, both(100 * MIB, 0))
    assert [one["by"] for one in found] == [["counters"]] * 3
    logs = {
        0: [{"name": "mlx5_0:1", "transport": "rc_mlx5"}],
        1: [{"name": "mlx5_1:1", "transport": "rc_mlx5"}],
    }
    found, _ = used(ranks, logs, WIRES, both(50 * MIB, 50 * MIB))
    assert [[nic["name"] for nic in one["nics"]] for one in found[:2]] == [["mlx5_0:1"], ["mlx5_1:1"]]


def test_a_contradiction() -> None:
    """Protects the finding: the log names a NIC whose counters stood still while another one's rose."""
    said = [{"name": "mlx5_0:1", "transport": "rc_mlx5"}]
    found, differ = used(RANKS, {0: said, 1: said}, WIRES, both(0, 100 * MIB))
    assert differ == (
        "on n1 the log names mlx5_0:1, but the counters show the traffic on mlx5_1:1; "
        "on n2 the log names mlx5_0:1, but the counters show the traffic on mlx5_1:1"
    )
    # The counters decide.
    assert [nic["name"] for nic in found[0]["nics"]] == ["mlx5_1:1"]


def test_what_is_no_contradiction() -> None:
    """Protects TCP over a bond, a VLAN or IP over InfiniBand, whose names in a log lie on top of the NIC."""
    counts = [
        *(
            counted(host, name, 50 * MIB, "network", granularity=1500)
            for host in ("n1", "n2")
            for name in "ab"
        ),
        *(counted(host, "v", 100 * MIB, "network", granularity=1500) for host in ("n1", "n2")),
    ]
    wires = [wire(host, name, "network", pci="0000:18:00.0") for host in ("n1", "n2") for name in "ab"]
    for name in ("bond0", "v"):
        said = [{"name": name, "transport": "tcp"}]
        found, differ = used(RANKS, {0: said, 1: said}, wires, counts)
        assert differ is None
        assert [nic["name"] for nic in found[0]["nics"]] == ["a", "b"]
    over_ib = [*both(100 * MIB, 0), counted("n1", "ib0", 100 * MIB, "network")]
    found, differ = used(RANKS, {0: [{"name": "ib0", "transport": "tcp"}]}, WIRES, over_ib)
    assert differ is None
    assert [nic["name"] for nic in found[0]["nics"]] == ["mlx5_0:1"]


def test_counters_that_do_not_tell() -> None:
    """Protects small messages: what others sent meanwhile must not name a NIC."""
    quiet = [counted("n1", "eth0", MIB, "network"), counted("n1", "eth1", 0, "network")]
    assert counted_shares("n1", [], quiet) == {}
    noisy = [counted("n1", "eth0", 200 * MIB, "network", background=150 * MIB)]
    assert counted_shares("n1", [], noisy) == {}
    assert counted_shares("n1", [], [counted("n1", "lo", 100 * MIB, "loopback")]) == {}
    assert counted_shares("n2", [], quiet) == {}


def test_one_host_has_none() -> None:
    """Protects runs on one host from a line about NICs: their bytes need none."""
    ranks = [rank(0, "n1"), rank(1, "n1")]
    assert used(ranks, {0: [{"name": "eth0", "transport": "tcp"}]}, WIRES, both(100 * MIB, 0)) == ([], None)


def test_the_bounds_of_what_counters_tell() -> None:
    """Protects each limit: half of the payload, a quarter of it uncertain, a NIC with 2 % of the traffic."""
    due = 200 * MIB

    def one(moved: int, **more: Any) -> dict[str, float]:
        return counted_shares("n1", [], [counted("n1", "eth0", moved, "network", **more)])

    assert one(50 * MIB) == {"eth0": 1.0}
    assert one(50 * MIB - 1) == {}
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
    others = [counted("n2", "eth0", 100 * MIB, "network"), counted("n1", "GPU 0", 100 * MIB, "nvlink")]
    assert counted_shares("n1", [], [*others, counted("n1", "eth1", 100 * MIB, "network")]) == {"eth1": 1.0}


def test_the_bounds_of_a_contradiction() -> None:
    """Protects from crying wolf: the NIC named carried more than 2 %, or another one named is not counted."""

    def differ(carried: int, *names: str, **more: Any) -> str | None:
        wires = [counted("n1", NEAR, carried, **more), counted("n1", FAR, 100 * MIB)]
        counts = [*wires, counted("n2", NEAR, 100 * MIB)]
        return used(RANKS, {0: [{"name": name} for name in names]}, WIRES, counts)[1]

    text = "on n1 the log names mlx5_0:1, but the counters show the traffic on mlx5_1:1"
    assert differ(0, "mlx5_0:1") == differ(2 * MIB, "mlx5_0:1") == text
    assert differ(3 * MIB, "mlx5_0:1") is None
    assert differ(4 * MIB, "mlx5_0:1", background=4 * MIB) == text
    assert differ(0, "mlx5_0:1", "mlx5_9:1") is None
    assert differ(0, "mlx5_0:1", "mlx5_1:1") is None
    assert differ(0) is None
