"""A machine made of files and of a fake NVML: two sockets, GPUs, adapters, and any fault."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

GPUS = ("0000:17:00.0", "0000:65:00.0")
NICS = ("0000:18:00.0", "0000:66:00.0")
GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> None:
    """Files of /proc and /sys below a folder."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")


def pci_device(root: Path, address: str, node: int, cpus: str, bridge: str = "", **changed: str) -> None:
    """A PCI device behind a port of its own, at full speed and width unless told otherwise."""
    full = {
        "current_link_speed": "32.0 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_width": "16",
    }
    port = bridge or f"{address[:-4]}1f.0"
    place = root / "sys/devices/pci0000:00" / port / address
    about = {"numa_node": str(node), "local_cpulist": cpus}
    write(place, {**full, **about, **{name: text for name, text in changed.items() if "slot" not in name}})
    slot = {
        f"max_link_{what}": changed.get(f"slot_{what}", full[f"max_link_{what}"])
        for what in ("speed", "width")
    }
    write(place.parent, slot)
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    for name, target in ((address, place), (port, place.parent)):
        if not (devices / name).exists():
            (devices / name).symlink_to(target)


def adapter(root: Path, name: str, pci: str, **port: str) -> None:
    """An InfiniBand adapter with one port."""
    folder = root / "sys/class/infiniband" / name
    full = {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}
    write(folder, {"hca_type": "MT4129"})
    write(folder / "ports/1", {**full, **port})
    if not (folder / "device").exists():
        (folder / "device").symlink_to(root / "sys/bus/pci/devices" / pci)


def tree(root: Path, *, adapters: bool = True) -> Path:
    """Two NUMA nodes, a GPU and an adapter on each, /dev/shm, an NVIDIA driver with open modules."""
    for node, cpus in ((0, "0-3"), (1, "4-7")):
        write(
            root / f"sys/devices/system/node/node{node}",
            {"cpulist": cpus, "meminfo": f"Node {node} MemTotal:       {64 * GIB // 1024} kB"},
        )
        first = cpus[0]
        write(root / f"sys/devices/system/cpu/cpu{first}/topology", {"physical_package_id": str(node)})
        pci_device(root, GPUS[node], node, cpus)
        if adapters:
            pci_device(root, NICS[node], node, cpus)
            adapter(root, f"mlx5_{node}", NICS[node])
    (root / "dev/shm").mkdir(parents=True)
    write(
        root,
        {
            "proc/modules": "nvidia_peermem 16384 0 - Live 0x0",
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1",
            "proc/self/status": "CapEff:\t000001ffffffffff",
        },
    )
    return root


class NvmlError(Exception):
    """What pynvml raises."""


class FabricInfo(ctypes.Structure):
    """nvmlGpuFabricInfo_t, as far as it is read."""

    _fields_ = (("state", ctypes.c_uint), ("status", ctypes.c_uint))


@dataclass
class FakeGpu:
    """What NVML says of one GPU."""

    pci: str
    name: str = "NVIDIA H200"
    links: list[int] = field(default_factory=lambda: [1] * 18)
    mode: int = 0
    mig: int = 0
    processes: list[Any] = field(default_factory=list)
    fabric: int = 3
    lost: str = ""
    """Calls that fail: handle (the first one), later (those whose answers are not remembered), denied."""
    words: str = "GPU is lost"
    """What they say."""


REMEMBERED = ("nvmlDeviceGetName", "nvmlDeviceGetPciInfo", "nvmlDeviceGetUUID")


class FakeNvml:
    """pynvml's functions over FakeGpus; every one of them may be told to fail."""

    c_nvmlGpuFabricInfo_t = FabricInfo

    def __init__(self, *gpus: FakeGpu, p2p: int = 0, lacks: str = "") -> None:
        self.gpus = list(gpus) or [FakeGpu(pci) for pci in GPUS]
        self.p2p, self.lacks, self.open = p2p, lacks, 0

    def __getattribute__(self, name: str) -> Any:
        """Calls on a lost GPU fail, but for those whose answers the driver remembers."""
        found = super().__getattribute__(name)
        if not name.startswith("nvmlDevice") or name in ("nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"):
            return found

        def call(*arguments: Any) -> Any:
            for word in arguments:
                if isinstance(word, FakeGpu) and word.lost and name not in REMEMBERED:
                    raise NvmlError(word.words)
            return found(*arguments)

        return call

    def nvmlInit(self) -> None:
        if self.lacks:
            raise NvmlError(self.lacks)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.159.04"

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return 13000

    def nvmlSystemGetProcessName(self, pid: int) -> str:
        return "/usr/bin/python3"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        if self.gpus[index].lost == "handle":
            raise NvmlError(self.gpus[index].words)
        if self.gpus[index].lost == "denied":
            raise NvmlError("Insufficient Permissions")
        return self.gpus[index]

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        return gpu.name

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        return f"GPU-{gpu.pci}"

    def nvmlDeviceGetPciInfo(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(busId=f"0000{gpu.pci.upper()}".encode())

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(total=141 * GIB)

    def nvmlDeviceGetPowerState(self, gpu: FakeGpu) -> int:
        return 0

    def nvmlDeviceGetComputeMode(self, gpu: FakeGpu) -> int:
        return gpu.mode

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> list[int]:
        return [gpu.mig, gpu.mig]

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[Any]:
        return gpu.processes

    def nvmlDeviceGetNvLinkState(self, gpu: FakeGpu, link: int) -> int:
        if link >= len(gpu.links):
            raise NvmlError("Not Supported")
        return gpu.links[link]

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: FakeGpu, link: int) -> int:
        return 2

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: FakeGpu, link: int) -> Any:
        raise NvmlError("Not Supported")

    def nvmlDeviceGetGpuFabricInfo(self, gpu: FakeGpu, info: ctypes._Pointer[FabricInfo]) -> None:
        info.contents.state = gpu.fabric

    def nvmlDeviceGetTopologyCommonAncestor(self, one: FakeGpu, other: FakeGpu) -> int:
        return 50

    def nvmlDeviceGetP2PStatus(self, one: FakeGpu, other: FakeGpu, index: int) -> int:
        return self.p2p


def process(pid: int, size: int | None = GIB) -> Any:
    return SimpleNamespace(pid=pid, usedGpuMemory=size)
