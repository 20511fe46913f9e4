"""NVIDIA's management library, as far as counters and links of GPUs go; opened at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

Gpu = Any
"""A device handle of the library."""
MOST_LINKS = 36
REMOTE_IS_GPU = 0
"""NVML_NVLINK_DEVICE_TYPE_GPU (nvml.h)."""


class NvmlError(Exception):
    """A call of the library failed, in its own words."""


class Nvml:
    """The library, opened and initialised."""

    def __init__(self, library: Any) -> None:
        """`library`: the module pynvml, or a stand-in for tests."""
        self._nvml = library
        self._call("nvmlInit")

    @staticmethod
    def open_for(devices: Sequence[Mapping[str, Any]]) -> Nvml | None:
        """None where none of the devices is NVIDIA's, or the library is not there."""
        if not any(device.get("kind") == "cuda" for device in devices):
            return None
        with suppress(ImportError, NvmlError):
            import pynvml

            return Nvml(pynvml)
        return None

    def close(self) -> None:
        with suppress(NvmlError):
            self._call("nvmlShutdown")

    def gpus(self, devices: Sequence[Mapping[str, Any]]) -> list[tuple[Gpu, Mapping[str, Any]]]:
        """(handle, identity) of each NVIDIA device, found by its PCI address. Raises NvmlError."""
        return [
            (self._call("nvmlDeviceGetHandleByPciBusId", str(device["pci"]).encode()), device)
            for device in devices
            if device.get("kind") == "cuda" and device.get("pci")
        ]

    def fields(self, gpu: Gpu, asked: Sequence[tuple[int, int]]) -> list[int | None]:
        """Values of (field, scope) as whole numbers; None: this GPU has it not. Raises NvmlError."""
        values = self._call("nvmlDeviceGetFieldValues", gpu, list(asked))
        return [_whole(value) if value.nvmlReturn == 0 else None for value in values]

    def active_links(self, gpu: Gpu) -> list[int]:
        """Numbers of the NVLinks that are up."""
        up = []
        for link in range(MOST_LINKS):
            try:
                if self._call("nvmlDeviceGetNvLinkState", gpu, link) == 1:
                    up.append(link)
            except NvmlError:
                break
        return up

    def link_ends(self, gpu: Gpu, links: Sequence[int]) -> dict[str, int]:
        """How many of the links lead to the GPU at each PCI address; empty where some lead to switches.

        Empty as well where the driver does not say, as in some virtual machines.
        """
        ends: dict[str, int] = {}
        try:
            for link in links:
                if self._call("nvmlDeviceGetNvLinkRemoteDeviceType", gpu, link) != REMOTE_IS_GPU:
                    return {}
                pci = pci_address(self._call("nvmlDeviceGetNvLinkRemotePciInfo", gpu, link).busId)
                ends[pci] = ends.get(pci, 0) + 1
        except NvmlError:
            return {}
        return ends

    def pcie(self, gpu: Gpu) -> dict[str, int]:
        """The most that GPU and slot can do, generation and width; empty where it is not said.

        What is in use now is less while a GPU idles.
        """
        with suppress(NvmlError):
            return {
                "generation": int(self._call("nvmlDeviceGetMaxPcieLinkGeneration", gpu)),
                "width": int(self._call("nvmlDeviceGetMaxPcieLinkWidth", gpu)),
            }
        return {}

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self._nvml, name)(*arguments)
        except self._nvml.NVMLError as error:
            raise NvmlError(f"{name}: {error}") from None


def pci_address(text: str | bytes) -> str:
    """'0000:0f:00.0', as the kernel writes it, of a driver's '00000000:0F:00.0'; empty for what is none."""
    word = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    domain, sign, rest = word.strip().lower().partition(":")
    return f"{domain[-4:]}:{rest}" if sign else ""


def _whole(value: Any) -> int:
    """A field's value by the type that it says it has (nvmlValueType_t)."""
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    return int(getattr(value.value, kinds[value.valueType]))
