"""Faults of GPUs, PCIe links and network adapters: each is made on a fake machine, and found."""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path

import pynvml
import pytest
from support import fake_machine
from support.fake_facts import facts_of, keys, one
from support.fake_machine import GPUS, FakeGpu, FakeNvml, pci_device
from support.records import console, text_of
from support.stand_ins import nvml as nvml_library

from wirespeed.doctor.collect import own_limits
from wirespeed.doctor.findings import find_all
from wirespeed.report.doctor.machine_drawing import draw


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path)


@pytest.mark.parametrize("slices", ["0", "1", "2"])
def test_slices_by_the_library_itself(
    root: Path, builds: Path, slices: str, monkeypatch: pytest.MonkeyPatch
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


@pytest.mark.parametrize("lost", ["handle", "later"])
def test_a_lost_gpu_ends_nothing(root: Path, lost: str) -> None:
    """Protects the other GPUs' findings: every call on a lost GPU may fail, and some still answer."""
    third = FakeGpu("0000:b4:00.0", links=[1] * 18, mode=2, lost=lost)
    facts = facts_of(root, FakeNvml(FakeGpu(GPUS[0]), FakeGpu(GPUS[1], links=[0] * 18), third))
    found = one(facts, "gpu-lost")
    assert found.title == "GPU 2 is lost (NVML), not used here"
    assert keys(facts) == ["nvlink-down", "gpu-lost"]
    assert [(pair.first, pair.second) for pair in facts.pairs] == [(0, 1)]
    screen = console(100)
    draw(screen, facts)
    (line,) = (line for line in text_of(screen).splitlines() if "GPU 2" in line)
    assert "not reachable" in line and "NVLink" not in line


@pytest.mark.parametrize("lost", ["handle", "later"])
@pytest.mark.parametrize("words", ["GPU requires restart", "GPU is lost"])
def test_the_first_gpu_does_not_answer(root: Path, lost: str, words: str) -> None:
    """Protects from a GPU that needs a reset, whichever it is: it is drawn as what it is."""
    facts = facts_of(root, FakeNvml(FakeGpu(GPUS[0], lost=lost, words=words), FakeGpu(GPUS[1])))
    found = one(facts, "gpu-lost")
    how = "is lost (NVML)" if "lost" in words else f"does not answer (NVML: {words})"
    assert found.title == f"GPU 0 {how}, not used here"
    assert words in facts.gpus[0].lost and not facts.pairs


def test_a_gpu_of_another_job_is_not_lost(root: Path) -> None:
    """Protects jobs whose batch system hides the other GPUs: NVML counts them, too."""
    others = FakeGpu("0000:b4:00.0", lost="denied")
    assert keys(facts_of(root, FakeNvml(FakeGpu(GPUS[0]), FakeGpu(GPUS[1]), others))) == []


def test_gpus_are_found_without_a_library(root: Path) -> None:
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


def test_locked_memory_of_a_real_process() -> None:
    """The limit that a shell really set is the one that is seen."""
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, before[1]))
        assert own_limits().memlock == 65536
    finally:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, before)
