"""PCIe: bytes that each NVIDIA GPU sent to and received from its slot, packet headers included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.evidence.counters import CannotRead, CounterSource, Reading, Wire
from wirespeed.host.nvml import Gpu, Nvml

SENT, RECEIVED = 197, 198
"""NVML_FI_DEV_PCIE_COUNT_TX_BYTES and _RX_BYTES (nvml.h): 32 bits wide."""


class Pcie(CounterSource):
    """The GPUs' own counters; reading them takes no privilege."""

    def __init__(self, nvml: Nvml, gpus: Sequence[tuple[Gpu, Mapping[str, Any]]]) -> None:
        self._nvml, self._gpus = nvml, gpus
        self.wires = tuple(
            Wire("pcie", f"GPU {one['index']}", str(one["id"]), wraps=1 << 32, facts=nvml.pcie(gpu))
            for gpu, one in gpus
        )

    def read(self) -> list[Reading]:
        found = []
        for gpu, _ in self._gpus:
            sent, received = self._nvml.fields(gpu, [(SENT, 0), (RECEIVED, 0)])
            if sent is None or received is None:
                raise CannotRead("the driver does not count the bytes of this GPU's slot")
            found.append(Reading(sent, received))
        return found

    def close(self) -> None:
        self._nvml.close()


def find(devices: Sequence[Mapping[str, Any]]) -> CounterSource | None:
    """None where there is no NVIDIA GPU. Raises NvmlError."""
    nvml = Nvml.open_for(devices)
    return Pcie(nvml, nvml.gpus(devices)) if nvml else None
