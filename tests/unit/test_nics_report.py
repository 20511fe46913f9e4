"""What is said of the NICs that ranks used: below the table, on the page, by the doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.records import console, entry, make_run, shown, step, text_of

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.nic_choice import Farther, farther, farther_lines, one_for_all
from wirespeed.evidence.nics.used import used
from wirespeed.host.pci_topology import cpu_distance
from wirespeed.report.doctor.machine_drawing import draw
from wirespeed.report.facts.statement import WARNING
from wirespeed.report.facts.statements import statements
from wirespeed.results.runs import Run

SIZE = 1 << 20
GPUS = ("0000:17:00.0", "0000:65:00.0")
PORTS = ("mlx5_0", "mlx5_1")
NEAR = {"name": "mlx5_0:1", "share": 1.0, "distance": "PIX"}
FAR = {"name": "mlx5_1:1", "share": 1.0, "distance": "SYS"}


def of_rank(number: int, *used: dict[str, Any], host: str = "", by: tuple[str, ...] = ("counters",)) -> Any:
    return {"rank": number, "host": host or f"n{number}", "nics": list(used), "by": list(by)}


def run(*used: dict[str, Any], rate: float | None = 50e9, path: str = "host", **more: Any) -> Run:
    """Ranks whose GPU is beside the first port of their host; the second one is at the other socket."""
    gpu = {"kind": "cuda", "pci": GPUS[0]}
    ranks = [{"rank": one["rank"], "host": one["host"], "device": gpu} for one in used]
    wires = [
        {
            "host": host,
            "kind": "infiniband",
            "name": f"{port} port 1",
            "rate": 50e9 if number == 0 else rate,
            "pci": f"0000:{number}8:00.0",
            "distances": {gpu: "PIX" if place == number else "SYS" for place, gpu in enumerate(GPUS)},
        }
        for host in dict.fromkeys(one["host"] for one in used)
        for number, port in enumerate(PORTS)
    ]
    verdict = {
        "kind": "evidence",
        "run": "r",
        "path": path,
        "bytes": SIZE,
        "verdict": "network",
        "text": "over",
    }
    return make_run(
        step(path, ranks=ranks),
        entry(path, SIZE, 1e-4),
        {"kind": "wires", "run": "r", "path": path, "wires": wires},
        {**verdict, "nics": list(used), **more},
    )


def said(found: Run) -> str:
    return " ".join(shown(found, 140).split())


def facts(*runs: Run, **more: Any) -> MachineFacts:
    return MachineFacts(runs=runs, **more)


def test_a_nearer_nic() -> None:
    """Protects the answer to half the bandwidth: the NIC used, the nearer one, and what to set."""
    found = run(of_rank(0, NEAR), of_rank(1, FAR))
    used, nearer = (
        "mlx5_1:1 (other NUMA node than its GPU)",
        "mlx5_0:1 is nearer (same PCIe switch as its GPU)",
    )
    words = f"rank 1 uses {used}; {nearer}"
    assert f"host: {words}" in said(found)
    assert (WARNING, f"host: {words}") in [(said.level, said.words) for said in statements(found)]
    finding = one(facts(found), "nic-far")
    assert finding.title == "1 of 2 ranks use a NIC that is farther from their GPU than another one"
    assert finding.evidence == (f"host: {words}",)
    assert finding.remedy[0].startswith("UCX_NET_DEVICES=mlx5_0:1 PROGRAM  # rank 1; ")
    assert finding.remedy[1].startswith("NCCL_IB_HCA='=mlx5_0:1' PROGRAM  # ")
    restricted = one(facts(found, variables={"UCX_NET_DEVICES": "mlx5_1:1"}), "nic-far")
    assert restricted.remedy[0].startswith("unset UCX_NET_DEVICES  # ")


def test_a_cpu_rank_that_uses_four_nics() -> None:
    """Protects ranks without a GPU: three of the four NICs by which rank 1 sends lie at the other socket."""
    names = [f"mlx5_{number}:1" for number in range(4)]
    ranks = [{"rank": number, "host": f"n{number}", "cpus": "0-7"} for number in (0, 1)]
    wires: list[dict[str, Any]] = [
        {"host": host, "kind": "infiniband", "name": f"mlx5_{number} port 1", "rate": 50e9}
        | {"pci": f"0000:{number}8:00.0", "near": "8-15" if number else "0-7"}
        for host in ("n0", "n1")
        for number in range(4)
    ]
    assert [cpu_distance(range(8), near) for near in (range(8), range(4, 12), range(8, 9), ())] == [
        *("NODE", "", "SYS", "")
    ]
    counted = [
        {"host": wire["host"], "kind": "infiniband", "name": wire["name"], "sent": SIZE, "received": SIZE}
        | {"expected_sent": SIZE, "expected_received": SIZE, "background": 0, "granularity": 4}
        for wire in wires
        if wire["host"] == "n1" or wire["name"].startswith("mlx5_0")
    ]
    nics, _ = used(ranks, {}, wires, counted)
    records: list[dict[str, Any]] = [
        {"kind": "wires", "run": "r", "path": "host", "wires": wires},
        {
            "kind": "evidence",
            "run": "r",
            "path": "host",
            "bytes": SIZE,
            "verdict": "network",
            "text": "",
            "nics": nics,
        },
    ]
    found = make_run(step("host", ranks=ranks), entry("host", SIZE, 1e-4), *records)
    finding = one(facts(found), "nic-far")
    assert finding.title == "1 of 2 ranks use a NIC that is farther from their CPUs than another one"
    assert finding.evidence == (
        f"host: rank 1 uses {' and '.join(names[1:])} (other NUMA node than its CPUs); mlx5_0:1 is nearer "
        "(same NUMA node as its CPUs)",
    )
    assert finding.remedy[0].startswith("UCX_NET_DEVICES=mlx5_0:1 PROGRAM  # rank 1; each rank gets the NIC")
    assert "rank 0 by mlx5_0:1 (same NUMA node as its CPUs)" in said(found)
    unbound = [{**rank, "cpus": "0-15"} for rank in ranks]
    assert not any("distance" in nic for one in used(unbound, {}, wires, counted)[0] for nic in one["nics"])


def test_groups_of_ranks_with_far_nics() -> None:
    """Protects the limit of four lines, and that they say how many groups there are."""
    each = [Farther(number, (f"mlx5_{number}:1",), "SYS", "mlx5_9:1", "PIX") for number in range(5)]
    assert len(farther_lines(each[:4])) == 4
    assert farther_lines(each)[4:] == ["... 5 such groups of ranks in all"]
    two = [structs.replace(each[0], rank=rank) for rank in (4, 5)]
    (line,) = farther_lines(two)
    assert line.startswith("ranks 4-5 use mlx5_0:1 (")


def test_nics_of_which_too_little_is_known() -> None:
    """Protects from advice where a NIC has no distance, no rate, or is none of the host's known ports."""
    unknown = {"name": "mlx5_1:1"}
    foreign = {**FAR, "name": "mlx5_7:1"}
    found = run(of_rank(0, unknown), of_rank(1, foreign), of_rank(2, foreign, FAR))
    assert [(one.rank, one.nics) for one in farther(found, "host")] == [(2, ("mlx5_1:1",))]
    assert [*farther(run(of_rank(0, NEAR), of_rank(1, FAR), rate=None), "host")] == []
    assert [*farther(found, "another path")] == []
    alone = run(of_rank(0, FAR, host="n0"), of_rank(1, NEAR, host="n1"), of_rank(2, NEAR, host="n1"))
    assert [one.host for one in one_for_all(alone, "host")] == ["n1"]


def test_a_nearer_nic_that_is_no_better() -> None:
    """Protects from advice to take a slower port, and on virtual machines, whose PCIe is made up."""
    assert "nic-far" not in keys(facts(run(of_rank(0, NEAR), of_rank(1, NEAR))))
    slow = run(of_rank(0, NEAR), of_rank(1, FAR), rate=100e9)
    assert "nic-far" not in keys(facts(slow))
    far = run(of_rank(0, NEAR), of_rank(1, FAR))
    assert "nic-far" not in keys(facts(far, virtual=True))
    assert "nic-far" in keys(facts(far, virtual=True, foreign=True))


def test_one_nic_for_all_ranks() -> None:
    """Protects hosts with several NICs all of whose ranks were put on the first one."""
    ranks = [of_rank(number, NEAR, host=f"n{number // 2}") for number in range(4)]
    finding = one(facts(run(*ranks)), "nic-shared")
    assert finding.title == "All ranks of a host use one NIC, mlx5_0:1, of 2 that are up"
    assert finding.evidence[0] == "host: ranks 0-1 on n0 by mlx5_0:1, none by mlx5_1:1"
    assert finding.remedy[0].startswith("export UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1  # ")


def test_what_is_no_sharing() -> None:
    """Protects a host with one rank, ranks by several NICs, and a second port that is slower."""
    assert "nic-shared" not in keys(facts(run(of_rank(0, NEAR), of_rank(1, NEAR))))
    apart = [of_rank(number, (NEAR, FAR)[number % 2], host=f"n{number // 2}") for number in range(4)]
    assert "nic-shared" not in keys(facts(run(*apart)))
    alike = [of_rank(number, NEAR, host=f"n{number // 2}") for number in range(4)]
    assert "nic-shared" not in keys(facts(run(*alike, rate=1e9)))


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
