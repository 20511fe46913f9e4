"""PCIe: bytes that each NVIDIA GPU sent to and received from its slot, packet headers included.

Reading takes no privilege.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.evidence.counters import CounterSource, NvmlCounters, gpu_wire
from wirespeed.host.nvml import Nvml

SENT, RECEIVED = 197, 198
"""NVML_FI_DEV_PCIE_COUNT_TX_BYTES and _RX_BYTES (nvml.h): 32 bits wide."""


def find(devices: Sequence[Mapping[str, Any]]) -> CounterSource | None:
    """None where there is no NVIDIA GPU. Raises NvmlError."""
    nvml = Nvml.open_for(devices)
    if nvml is None:
        return None
    gpus = [
        (gpu, gpu_wire("pcie", one, wraps=1 << 32, facts=nvml.pcie(gpu)), ())
        for gpu, one in nvml.gpus(devices)
    ]
    return NvmlCounters(nvml, gpus, (SENT, RECEIVED), 0)
