"""NVIDIA's GPUs, through NVML; a machine without NVML is a fact, not an error."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from wirespeed.doctor.facts import pci
from wirespeed.doctor.facts.model import Gpu, GpuPair, NvLink, Process
from wirespeed.doctor.facts.tree import Tree
from wirespeed.host.nvml import pci_address

Value = TypeVar("Value")

MOST_LINKS = 36
"""NVML_NVLINK_MAX_LINKS."""
_SWITCH = 2
"""NVML_NVLINK_DEVICE_TYPE_SWITCH."""
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


@dataclass(frozen=True)
class Nvml:
    """What NVML knows of the machine."""

    gpus: tuple[Gpu, ...] = ()
    pairs: tuple[GpuPair, ...] = ()
    driver: str = ""
    cuda: str = ""
    lacks: str = ""
    """Reason why nothing is known."""


def load() -> Any | None:
    """The pynvml module; None where it cannot be imported."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def read(api: Any | None, tree: Tree) -> Nvml:
    """What `api` (pynvml, or a test's) knows of GPUs; `tree` adds what sysfs knows of their slots."""
    if api is None:
        return Nvml(lacks="pynvml is not installed (pip install nvidia-ml-py)")
    try:
        api.nvmlInit()
    except Exception as error:
        return Nvml(lacks=f"NVML: {error}")
    try:
        handles = [api.nvmlDeviceGetHandleByIndex(index) for index in range(_ask(api.nvmlDeviceGetCount, 0))]
        gpus = [(_gpu(api, tree, index, handle), handle) for index, handle in enumerate(handles)]
        pairs = tuple(_pair(api, *first, *second) for first, second in itertools.combinations(gpus, 2))
        version = _ask(api.nvmlSystemGetCudaDriverVersion, 0)
        cuda = f"{version // 1000}.{version % 1000 // 10}" if version else ""
        driver = _words(_ask(api.nvmlSystemGetDriverVersion, ""))
        return Nvml(tuple(gpu for gpu, _ in gpus), pairs, driver, cuda)
    finally:
        _ask(api.nvmlShutdown, None)


def _ask(call: Callable[..., Value], other: Value, *arguments: Any) -> Value:
    """NVML's answer, or `other`: some GPUs and drivers do not answer every call."""
    try:
        return call(*arguments)
    except Exception:
        return other


def _words(text: Any) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _gpu(api: Any, tree: Tree, index: int, handle: Any) -> Gpu:
    info = _ask(api.nvmlDeviceGetPciInfo, None, handle)
    address = pci_address(_words(info.busId)) if info is not None else ""
    mig = _ask(api.nvmlDeviceGetMigMode, (0, 0), handle)
    return Gpu(
        index=index,
        name=_words(_ask(api.nvmlDeviceGetName, "GPU", handle)),
        kind="cuda",
        uuid=_words(_ask(api.nvmlDeviceGetUUID, "", handle)),
        **pci.location(tree, address),
        compute_mode=_COMPUTE.get(_ask(api.nvmlDeviceGetComputeMode, 0, handle), "default"),
        mig=bool(mig[0]),
        processes=tuple(_processes(api, handle)),
        nvlinks=tuple(_nvlinks(api, handle)),
        fabric=_fabric(api, handle),
    )


def _processes(api: Any, handle: Any) -> Iterator[Process]:
    """Processes of others: reading a GPU's state makes this process one of its processes."""
    running: list[Any] = _ask(api.nvmlDeviceGetComputeRunningProcesses, [], handle)
    for one in running:
        if one.pid != os.getpid():
            name = _words(_ask(api.nvmlSystemGetProcessName, "", one.pid))
            yield Process(int(one.pid), name.rsplit("/", 1)[-1], getattr(one, "usedGpuMemory", None))


def _nvlinks(api: Any, handle: Any) -> Iterator[NvLink]:
    """The board's links; NVML refuses to answer for others."""
    for number in range(MOST_LINKS):
        state = _ask(api.nvmlDeviceGetNvLinkState, -1, handle, number)
        if state >= 0:
            yield NvLink(number, bool(state), _peer(api, handle, number) if state else "")


def _peer(api: Any, handle: Any, number: int) -> str:
    if _ask(api.nvmlDeviceGetNvLinkRemoteDeviceType, -1, handle, number) == _SWITCH:
        return "switch"
    info = _ask(api.nvmlDeviceGetNvLinkRemotePciInfo, None, handle, number)
    return pci_address(_words(info.busId)) if info is not None else ""


def _fabric(api: Any, handle: Any) -> str:
    """State of the NVSwitch fabric, which a fabric manager must bring up; empty where there is none."""
    try:
        info = api.c_nvmlGpuFabricInfo_t()
        # pynvml passes it on unchanged: it must be a pointer.
        api.nvmlDeviceGetGpuFabricInfo(handle, ctypes.pointer(info))
        state = int(info.state)
    except Exception:
        return ""
    failed = state == 3 and int(info.status) != 0
    return f"failed (NVML status {int(info.status)})" if failed else _FABRIC.get(state, "")


def _pair(api: Any, one: Gpu, first: Any, other: Gpu, second: Any) -> GpuPair:
    states = [_ask(api.nvmlDeviceGetP2PStatus, -1, first, second, index) for index in (_READ, _WRITE)]
    known = [state for state in states if state >= 0]
    worst = next((state for state in known if state), 0)
    level = _LEVELS.get(_ask(api.nvmlDeviceGetTopologyCommonAncestor, -1, first, second), "")
    peer = _P2P.get(worst, "unknown to the driver") if known else ""
    return GpuPair(one.index, other.index, _between(one, other), level, peer)


def _between(one: Gpu, other: Gpu) -> int:
    """NVLinks that lead from one to the other, by a switch or directly."""
    direct = sum(link.active and link.peer == other.pci for link in one.nvlinks)
    switched = [sum(link.active and link.peer == "switch" for link in gpu.nvlinks) for gpu in (one, other)]
    return direct or min(switched)
