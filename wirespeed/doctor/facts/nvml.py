"""NVIDIA's GPUs, through NVML; a machine without NVML is a fact, not an error."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from wirespeed.doctor.facts import pci
from wirespeed.doctor.facts.model import Gpu, GpuPair, Process
from wirespeed.doctor.facts.tree import Tree
from wirespeed.host.nvml import GpuHandle, Nvml, NvmlError, pci_address

_READ, _WRITE = 0, 1
"""NVML_P2P_CAPS_INDEX_*, as nvml.h counts them (pynvml 13 has a tuple for the first one)."""
_COMPUTE = {0: "default", 1: "exclusive", 2: "prohibited", 3: "exclusive"}
"""NVML_COMPUTEMODE_*."""
_P2P = {
    0: "ok",
    1: "the chipset does not support it",
    2: "a GPU does not support it",
    3: "the I/O topology does not support it",
    4: "switched off by a registry key of the driver",
    5: "not supported",
}
"""NVML_P2P_STATUS_*."""
_LEVELS = {0: "same board", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""NVML_TOPOLOGY_* under the names of nvidia-smi topo."""
_FABRIC = {1: "not started", 2: "in progress", 3: "completed"}
"""NVML_GPU_FABRIC_STATE_*."""


class NvmlFacts(Struct, frozen=True):
    """NVML's facts about the machine."""

    gpus: tuple[Gpu, ...] = ()
    pairs: tuple[GpuPair, ...] = ()
    version: str = ""
    cuda: str = ""
    lacks: str = ""
    """Reason why nothing is known."""


def load() -> Any | None:
    """The pynvml module; None where it cannot be imported."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def read(api: Any | None, tree: Tree) -> NvmlFacts:
    """Facts that `api` (pynvml, or a test's) has about GPUs; `tree` adds what sysfs knows of their slots."""
    if api is None:
        return NvmlFacts(lacks="pynvml is not installed (pip install nvidia-ml-py)")
    try:
        nvml = Nvml(api)
    except NvmlError as error:
        return NvmlFacts(lacks=str(error))
    try:
        count = nvml.ask("nvmlDeviceGetCount", 0)
        gpus = [_found(nvml, tree, index) for index in range(count)]
        sound = [(gpu, handle) for gpu, handle in gpus if not gpu.lost]
        pairs = tuple(_pair(nvml, *first, *second) for first, second in itertools.combinations(sound, 2))
        cuda = nvml.ask("nvmlSystemGetCudaDriverVersion", 0)
        return NvmlFacts(
            tuple(gpu for gpu, _ in gpus),
            pairs,
            nvml.ask("nvmlSystemGetDriverVersion", ""),
            f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
        )
    finally:
        nvml.close()


_GONE = ("lost", "restart", "reset")
"""In the words of NVML_ERROR_GPU_IS_LOST and NVML_ERROR_RESET_REQUIRED."""
_ANSWERED = (
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetPowerState",
)
"""Calls that sound GPUs answer or do not support; of a lost one the library remembers some answers."""


def _found(nvml: Nvml, tree: Tree, index: int) -> tuple[Gpu, GpuHandle]:
    """A GPU with its handle. Of one that gives none, or is lost, NVML's words and what else is known."""
    try:
        handle = nvml.call("nvmlDeviceGetHandleByIndex", index)
    except NvmlError as error:
        return Gpu(index, "GPU", "cuda", lost=str(error)), GpuHandle(None)
    gpu = _gpu(nvml, tree, index, handle)
    for name in _ANSWERED:
        try:
            nvml.call(name, handle)
        except NvmlError as error:
            if any(word in str(error) for word in _GONE):
                kept = {"uuid": gpu.uuid, **pci.location(tree, gpu.pci)}
                return Gpu(index, gpu.name, "cuda", lost=str(error), **kept), handle
    return gpu, handle


def _gpu(nvml: Nvml, tree: Tree, index: int, handle: GpuHandle) -> Gpu:
    info = nvml.ask("nvmlDeviceGetPciInfo", None, handle)
    address = pci_address(info.busId) if info else ""
    mig = nvml.ask("nvmlDeviceGetMigMode", (0, 0), handle)
    return Gpu(
        index=index,
        name=nvml.ask("nvmlDeviceGetName", "GPU", handle),
        kind="cuda",
        uuid=nvml.ask("nvmlDeviceGetUUID", "", handle),
        **pci.location(tree, address),
        compute_mode=_COMPUTE.get(nvml.ask("nvmlDeviceGetComputeMode", 0, handle), "default"),
        mig=bool(mig[0]),
        slices=tuple(_slices(nvml, handle)) if mig[0] else (),
        processes=tuple(_processes(nvml, handle)),
        nvlinks=tuple(nvml.links(handle)),
        fabric=_fabric(nvml, handle),
    )


def _slices(nvml: Nvml, handle: GpuHandle) -> Iterator[str]:
    """Numbers of slices have gaps."""
    for number in range(nvml.ask("nvmlDeviceGetMaxMigDeviceCount", 0, handle)):
        if (item := nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", None, handle, number)) is not None:
            yield nvml.ask("nvmlDeviceGetUUID", "MIG-?", item)


def _processes(nvml: Nvml, handle: GpuHandle) -> Iterator[Process]:
    """Processes of others: reading a GPU's state makes this process one of its processes."""
    running: list[Any] = nvml.ask("nvmlDeviceGetComputeRunningProcesses", [], handle)
    for launched in running:
        if launched.pid != os.getpid():
            name = nvml.ask("nvmlSystemGetProcessName", "", launched.pid)
            yield Process(
                int(launched.pid), name.rsplit("/", 1)[-1], getattr(launched, "usedGpuMemory", None)
            )


def _fabric(nvml: Nvml, handle: GpuHandle) -> str:
    """State of the NVSwitch fabric, which a fabric manager must bring up; empty where there is none."""
    try:
        info = nvml.library.c_nvmlGpuFabricInfo_t()
        # pynvml passes it on unchanged: it must be a pointer.
        nvml.call("nvmlDeviceGetGpuFabricInfo", handle, ctypes.pointer(info))
        state = int(info.state)
    except Exception:
        return ""
    failed = state == 3 and int(info.status) != 0
    return f"failed (NVML status {int(info.status)})" if failed else _FABRIC.get(state, "")


def _pair(nvml: Nvml, gpu: Gpu, first: GpuHandle, other: Gpu, second: GpuHandle) -> GpuPair:
    states = [nvml.ask("nvmlDeviceGetP2PStatus", -1, first, second, index) for index in (_READ, _WRITE)]
    known = [state for state in states if state >= 0]
    worst = next((state for state in known if state), 0)
    level = _LEVELS.get(nvml.ask("nvmlDeviceGetTopologyCommonAncestor", -1, first, second), "")
    peer = _P2P.get(worst, "unknown to the driver") if known else ""
    return GpuPair(gpu.index, other.index, _between(gpu, other), level, peer)


def _between(one: Gpu, other: Gpu) -> int:
    """NVLinks that lead from one to the other, by a switch or directly."""
    direct = sum(link.active and link.peer == other.pci for link in one.nvlinks)
    switched = [sum(link.active and link.peer == "switch" for link in gpu.nvlinks) for gpu in (one, other)]
    return direct or min(switched)
