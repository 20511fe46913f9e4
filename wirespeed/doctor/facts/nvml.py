"""NVIDIA's GPUs through NVML; where there is no NVML, that is a fact."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
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
    """What NVML says of the machine."""

    gpus: tuple[Gpu, ...] = ()
    pairs: tuple[GpuPair, ...] = ()
    driver: str = ""
    cuda: str = ""
    lacks: str = ""
    """Why nothing is known."""


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
    with _opened(api) as lacks:
        if lacks:
            return Nvml(lacks=lacks)
        handles = [api.nvmlDeviceGetHandleByIndex(index) for index in range(_ask(api.nvmlDeviceGetCount, 0))]
        gpus = tuple(_gpu(api, tree, index, handle) for index, handle in enumerate(handles))
        pairs = tuple(
            _pair(api, gpus[first], gpus[second], handles[first], handles[second])
            for first in range(len(handles))
            for second in range(first + 1, len(handles))
        )
        version = _ask(api.nvmlSystemGetCudaDriverVersion, 0)
        cuda = f"{version // 1000}.{version % 1000 // 10}" if version else ""
        return Nvml(gpus, pairs, _words(_ask(api.nvmlSystemGetDriverVersion, "")), cuda)


@contextlib.contextmanager
def _opened(api: Any) -> Iterator[str]:
    """Yields why NVML cannot be used; empty if it can."""
    try:
        api.nvmlInit()
    except Exception as error:
        yield f"NVML: {error}"
        return
    try:
        yield ""
    finally:
        with contextlib.suppress(Exception):
            api.nvmlShutdown()


def _ask(call: Callable[..., Value], other: Value, *arguments: Any) -> Value:
    """What NVML answers, or `other`: many questions have no answer on some GPUs and drivers."""
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
        pci=address,
        node=pci.node(tree, address),
        near=pci.near(tree, address),
        link=pci.link(tree, address),
        compute_mode=_COMPUTE.get(_ask(api.nvmlDeviceGetComputeMode, 0, handle), "default"),
        mig=bool(mig[0]),
        processes=tuple(_processes(api, handle)),
        nvlinks=tuple(_nvlinks(api, handle)),
        fabric=_fabric(api, handle),
    )


def _processes(api: Any, handle: Any) -> Iterator[Process]:
    """Other people's: whoever looks at a GPU computes on it too."""
    running: list[Any] = _ask(api.nvmlDeviceGetComputeRunningProcesses, [], handle)
    for one in running:
        if one.pid == os.getpid():
            continue
        name = _words(_ask(api.nvmlSystemGetProcessName, "", one.pid))
        yield Process(int(one.pid), name.rsplit("/", 1)[-1], getattr(one, "usedGpuMemory", None))


def _nvlinks(api: Any, handle: Any) -> Iterator[NvLink]:
    """Links that the board has; NVML refuses to answer for others."""
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
        # pynvml hands it on as it is: by value it would be the wrong thing on the stack.
        api.nvmlDeviceGetGpuFabricInfo(handle, ctypes.pointer(info))
        state = int(info.state)
    except Exception:
        return ""
    failed = state == 3 and int(info.status) != 0
    return f"failed (NVML status {int(info.status)})" if failed else _FABRIC.get(state, "")


def _pair(api: Any, one: Gpu, other: Gpu, first: Any, second: Any) -> GpuPair:
    states = [_ask(api.nvmlDeviceGetP2PStatus, -1, first, second, index) for index in (_READ, _WRITE)]
    known = [state for state in states if state >= 0]
    worst = next((state for state in known if state), 0)
    return GpuPair(
        first=one.index,
        second=other.index,
        nvlinks=_between(one, other),
        level=_LEVELS.get(_ask(api.nvmlDeviceGetTopologyCommonAncestor, -1, first, second), ""),
        peer=_P2P.get(worst, "unknown to the driver") if known else "",
    )


def _between(one: Gpu, other: Gpu) -> int:
    """NVLinks that lead from one to the other, by a switch or directly."""
    direct = sum(link.active and link.peer == other.pci for link in one.nvlinks)
    switched = [sum(link.active and link.peer == "switch" for link in gpu.nvlinks) for gpu in (one, other)]
    return direct or min(switched)
