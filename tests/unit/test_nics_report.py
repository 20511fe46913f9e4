"""Which NIC is farther than another one; tests/golden has what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs
from support import fake_machine
from support.fake_facts import facts_of
from support.records import console, entry, make_run, step, text_of

from wirespeed.doctor.nic_choice import Farther, farther, farther_lines, one_for_all
from wirespeed.host.pci_topology import cpu_distance
from wirespeed.report.doctor.machine_drawing import draw
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


def test_cpus_near_a_nic_and_far_from_it() -> None:
    near = [cpu_distance(range(8), cpus) for cpus in (range(8), range(4, 12), range(8, 9), ())]
    assert near == ["NODE", "", "SYS", ""]


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
