"""NVIDIA's management library, as far as counters and links of GPUs go; opened at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NewType

GpuHandle = NewType("GpuHandle", object)
"""A device of the library."""
MAX_LINKS = 36
"""NVML_NVLINK_MAX_LINKS."""
_GPU, _SWITCH = 0, 2
"""NVML_NVLINK_DEVICE_TYPE_* (nvml.h)."""


@dataclass(frozen=True)
class NvLink:
    """One NVLink of a GPU."""

    number: int
    active: bool
    peer: str = ""
    """PCI address of the GPU at the other end, 'switch', or empty where unknown."""


class NvmlError(Exception):
    """A call of the library failed, in its own words."""


class Nvml:
    """The library, opened and initialised."""

    def __init__(self, library: Any) -> None:
        """`library`: the module pynvml, or a stand-in for tests."""
        self.library = library
        self.call("nvmlInit")

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
        self.ask("nvmlShutdown", None)

    def gpus(self, devices: Sequence[Mapping[str, Any]]) -> list[tuple[GpuHandle, Mapping[str, Any]]]:
        """(handle, identity) of each NVIDIA device, found by its PCI address. Raises NvmlError."""
        return [
            (self.call("nvmlDeviceGetHandleByPciBusId", str(device["pci"]).encode()), device)
            for device in devices
            if device.get("kind") == "cuda" and device.get("pci")
        ]

    def fields(self, gpu: GpuHandle, asked: Sequence[tuple[int, int]]) -> list[int | None]:
        """Values of (field, scope) as whole numbers; None: this GPU has it not. Raises NvmlError."""
        values = self.call("nvmlDeviceGetFieldValues", gpu, list(asked))
        return [_whole(value) if value.nvmlReturn == 0 else None for value in values]

    def links(self, gpu: GpuHandle) -> list[NvLink]:
        """The board's NVLinks; the library refuses to answer for others."""
        states = [self.ask("nvmlDeviceGetNvLinkState", -1, gpu, number) for number in range(MAX_LINKS)]
        return [
            NvLink(number, bool(state), self._peer(gpu, number) if state else "")
            for number, state in enumerate(states)
            if state >= 0
        ]

    def _peer(self, gpu: GpuHandle, number: int) -> str:
        kind = self.ask("nvmlDeviceGetNvLinkRemoteDeviceType", -1, gpu, number)
        if kind != _GPU:
            return "switch" if kind == _SWITCH else ""
        info = self.ask("nvmlDeviceGetNvLinkRemotePciInfo", None, gpu, number)
        return pci_address(info.busId) if info else ""

    def pcie(self, gpu: GpuHandle) -> dict[str, int]:
        """The most that GPU and slot can do, generation and width; empty where it is not said.

        What is in use now is less while a GPU idles.
        """
        with suppress(NvmlError):
            return {
                "generation": int(self.call("nvmlDeviceGetMaxPcieLinkGeneration", gpu)),
                "width": int(self.call("nvmlDeviceGetMaxPcieLinkWidth", gpu)),
            }
        return {}

    def ask(self, name: str, other: Any, *arguments: Any) -> Any:
        """The library's answer, or `other`: some GPUs and drivers do not answer every call."""
        try:
            return self.call(name, *arguments)
        except NvmlError:
            return other

    def call(self, name: str, *arguments: Any) -> Any:
        """The library's answer, texts decoded. Raises NvmlError whatever went wrong in it."""
        try:
            return text_of(getattr(self.library, name)(*arguments))
        except Exception as error:
            raise NvmlError(f"{name}: {error}") from None


def text_of(answer: Any) -> Any:
    """Texts, which old versions of the module give as bytes, as str; anything else unchanged."""
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer


def pci_address(text: str | bytes) -> str:
    """'0000:0f:00.0', as the kernel writes it, of a driver's '00000000:0F:00.0'; empty for what is none."""
    domain, sign, rest = str(text_of(text)).strip().lower().partition(":")
    return f"{domain[-4:]}:{rest}" if sign else ""


def _whole(value: Any) -> int:
    """A field's value by the type that it says it has (nvmlValueType_t)."""
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    return int(getattr(value.value, kinds[value.valueType]))
