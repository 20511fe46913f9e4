"""Which NIC is farther than another one; tests/golden has what is said of it."""

from __future__ import annotations

from pathlib import Path

from support import fake_machine
from support.fake_facts import facts_of
from support.records import console, text_of

from wirespeed.host.pci_topology import cpu_distance
from wirespeed.report.doctor.machine_drawing import draw


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
