"""Faults of GPUs, PCIe links and network adapters: each is made on a fake machine, and found."""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path

import pynvml
import pytest
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.fake_machine import GPUS, NICS, FakeGpu, FakeNvml, adapter, pci_device, process
from support.stand_ins import nvml as nvml_library

from wirespeed.doctor.collect import own_limits
from wirespeed.doctor.facts.model import Limits
from wirespeed.doctor.finding import Cost
from wirespeed.doctor.findings import find_all


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


class TestGpus:
    def test_peer_access_refused(self, root: Path) -> None:
        finding = one(facts_of(root, FakeNvml(p2p=4)), "peer-access")
        assert finding.cost is Cost.HIGH
        assert "registry key" in finding.evidence[0]

    def test_nvlinks_down(self, root: Path) -> None:
        nvml = FakeNvml(FakeGpu(GPUS[0], links=[1] * 18), FakeGpu(GPUS[1], links=[1] * 6 + [0] * 12))
        finding = one(facts_of(root, nvml), "nvlink-down")
        assert finding.cost is Cost.HIGH
        assert finding.evidence[0].startswith("GPU 1: 6 of 18 NVLinks are active; inactive: 6, 7")
        assert "33%" in finding.title

    def test_a_board_that_nobody_knows_is_compared_with_an_identical_one(self, root: Path) -> None:
        gpus = [
            FakeGpu(pci, "Unheard of", links=[1] * 4 + [0] * lost)
            for pci, lost in zip(GPUS, (0, 0), strict=True)
        ]
        assert keys(facts_of(root, FakeNvml(*gpus))) == []
        gpus[1].links = [1, 1, 1, 0]
        finding = one(facts_of(root, FakeNvml(*gpus)), "nvlink-down")
        assert finding.cost is Cost.SOME

    def test_the_fabric_is_not_up(self, root: Path) -> None:
        gpus = [FakeGpu(pci, fabric=1) for pci in GPUS]
        assert one(facts_of(root, FakeNvml(*gpus)), "nvswitch-fabric").cost is Cost.BREAKS

    def test_mig(self, root: Path) -> None:
        facts = facts_of(root, FakeNvml(FakeGpu(GPUS[0], mig=1), FakeGpu(GPUS[1])))
        assert "GPU 0" in one(facts, "mig").title

    @pytest.mark.slow
    @pytest.mark.parametrize("slices", ["0", "1", "2"])
    def test_slices_by_the_library_itself(
        self, root: Path, builds: Path, slices: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Protects what H200s in their default mode cannot show: slices by UUID, and no second finding."""
        monkeypatch.setenv("FAKE_NVML_SLICES", slices)
        monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(nvml_library(builds))))
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        found = {finding.key: finding for finding in find_all(facts_of(root, pynvml))}
        if slices == "0":
            assert not {"mig", "peer-access"} & set(found)
            return
        uuids = [f"MIG-00000000-0000-0000-0000-{number:012d}" for number in (101, 103)][: int(slices)]
        assert "peer-access" not in found
        assert found["mig"].title.startswith("MIG is on for GPU 0: its slices have no peer access")
        assert f"GPU 0: {', '.join(uuids)}" in found["mig"].evidence
        command = f"wirespeed pingpong --device cuda:{',cuda:'.join(uuids)}  # a rank on each slice"
        assert (command in found["mig"].remedy) == (slices == "2")

    @pytest.mark.parametrize(("mode", "cost"), [(2, Cost.BREAKS), (3, Cost.SMALL)])
    def test_compute_mode(self, root: Path, mode: int, cost: str) -> None:
        facts = facts_of(root, FakeNvml(FakeGpu(GPUS[0], mode=mode), FakeGpu(GPUS[1])))
        assert one(facts, "compute-mode").cost is cost

    def test_somebody_else_computes(self, root: Path) -> None:
        nvml = FakeNvml(FakeGpu(GPUS[0], processes=[process(4711)]), FakeGpu(GPUS[1]))
        finding = one(facts_of(root, nvml), "gpu-shared")
        assert finding.evidence == ("GPU 0: pid 4711 python3, 1.0 GiB",)

    def test_who_looks_is_nobody_else(self, root: Path) -> None:
        """The doctor opens every GPU to see what it can do, and NVML lists it."""
        nvml = FakeNvml(FakeGpu(GPUS[0], processes=[process(os.getpid())]), FakeGpu(GPUS[1]))
        assert "gpu-shared" not in keys(facts_of(root, nvml))


class TestAmd:
    def test_gpus_are_found_without_a_library(self, root: Path) -> None:
        """What sysfs says is enough for the drawing, for PCIe and for affinity."""
        pci_device(root, "0000:c1:00.0", 1, "4-7", current_link_width="8")
        place = root / "sys/bus/pci/devices/0000:c1:00.0"
        fake_machine.write(place, {"product_name": "AMD Instinct MI300X", "unique_id": "0x1234"})
        for name in ("drivers/amdgpu", "class/drm/card0", "class/drm/card1", "class/drm/renderD128"):
            (root / "sys" / name).mkdir(parents=True)
        (place / "driver").symlink_to(root / "sys/drivers/amdgpu")
        (root / "sys/class/drm/card0/device").symlink_to(place)
        (root / "sys/class/drm/card1/device").symlink_to(root / "sys/bus/pci/devices" / GPUS[0])
        facts = facts_of(root, FakeNvml(lacks="no NVML here"))
        found = [gpu for gpu in facts.gpus if gpu.kind == "hip"]
        assert [(gpu.name, gpu.pci, gpu.node, gpu.near) for gpu in found] == [
            ("AMD Instinct MI300X", "0000:c1:00.0", 1, (4, 5, 6, 7))
        ]
        assert "GPU 0 has 50% of its PCIe bandwidth" in one(facts, "pcie-width").title


class TestPcie:
    @pytest.mark.parametrize("address", [GPUS[0], NICS[0]])
    def test_narrow(self, root: Path, address: str) -> None:
        pci_device(root, address, 0, "0-3", current_link_width="8")
        finding = one(facts_of(root), "pcie-width")
        assert "50%" in finding.title
        assert "lanes were lost" in finding.title
        assert "runs at PCIe 5.0 x8, can do PCIe 5.0 x16" in finding.evidence[0]

    def test_slow_adapter(self, root: Path) -> None:
        pci_device(root, NICS[0], 0, "0-3", current_link_speed="8.0 GT/s PCIe")
        finding = one(facts_of(root), "pcie-speed")
        assert finding.cost is Cost.HIGH
        assert "mlx5_0 has 25%" in finding.title

    def test_slot_of_an_older_generation(self, root: Path) -> None:
        """The slot does not sleep: a GPU in one that can do less never gets more."""
        pci_device(root, GPUS[1], 1, "4-7", current_link_speed="2.5 GT/s PCIe", slot_speed="16.0 GT/s PCIe")
        finding = one(facts_of(root), "pcie-slot")
        assert "GPU 1 has 50%" in finding.title

    def test_a_virtual_slot_means_nothing(self, root: Path) -> None:
        fake_machine.write(root, {"proc/cpuinfo": "flags : fpu hypervisor lahf_lm"})
        pci_device(root, GPUS[1], 1, "4-7", slot_speed="2.5 GT/s PCIe", slot_width="1")
        assert keys(facts_of(root)) == []

    def test_a_virtual_machine_does_not_know(self, root: Path) -> None:
        unknown = {"current_link_speed": "Unknown", "max_link_speed": "Unknown", "current_link_width": "0"}
        pci_device(root, GPUS[0], 0, "0-3", **unknown)
        assert keys(facts_of(root)) == []


class TestAdapters:
    def test_port_down(self, root: Path) -> None:
        adapter(root, "mlx5_1", NICS[1], state="1: DOWN")
        finding = one(facts_of(root), "nic-down")
        assert "mlx5_1:1" in finding.title
        assert finding.cost is Cost.SOME

    def test_every_port_down(self, root: Path) -> None:
        for number, pci in enumerate(NICS):
            adapter(root, f"mlx5_{number}", pci, state="2: INIT")
        assert one(facts_of(root), "nic-down").cost is Cost.HIGH

    def test_lanes_lost(self, root: Path) -> None:
        adapter(root, "mlx5_0", NICS[0], rate="100 Gb/sec (1X NDR)")
        assert "1 of 4 lanes" in one(facts_of(root), "nic-narrow").title

    def test_slower_than_an_identical_one(self, root: Path) -> None:
        adapter(root, "mlx5_0", NICS[0], rate="200 Gb/sec (4X HDR)")
        assert "200 Gb/s, an identical one at 400" in one(facts_of(root), "nic-slow").title

    def test_roce_has_fewer_lanes_by_design(self, root: Path) -> None:
        for number, pci in enumerate(NICS):
            adapter(root, f"mlx5_{number}", pci, rate="25 Gb/sec (1X EDR)", link_layer="Ethernet")
        assert keys(facts_of(root)) == []

    def test_no_gpudirect_rdma(self, root: Path) -> None:
        fake_machine.write(root, {"proc/modules": "nvidia 1 0", "proc/driver/nvidia/version": "NVIDIA UNIX"})
        finding = one(facts_of(root), "gpudirect-rdma")
        assert "proprietary" in finding.evidence[2]
        fake_machine.write(root, {"proc/modules": "nv_peer_mem 1 0"})
        assert keys(facts_of(root)) == []

    def test_locked_memory(self, root: Path) -> None:
        assert one(facts_of(root, limit=Limits(64 << 10, (0, 4))), "memlock").cost is Cost.BREAKS
        assert one(facts_of(root, limit=Limits(1 << 30, (0, 4))), "memlock").cost is Cost.HIGH

    def test_locked_memory_of_a_real_process(self) -> None:
        """The limit that a shell really set is the one that is seen."""
        before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, before[1]))
            assert own_limits().memlock == 65536
        finally:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, before)

    def test_without_adapters_neither_matters(self, tmp_path: Path) -> None:
        root = fake_machine.tree(tmp_path, adapters=False)
        fake_machine.write(root, {"proc/modules": "nvidia 1 0", "proc/driver/nvidia/version": "NVIDIA UNIX"})
        assert keys(facts_of(root, limit=Limits(65536, (0, 4)))) == []
