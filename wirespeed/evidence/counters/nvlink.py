"""NVLink: bytes of data that each GPU sent and received over all its links, and over each.

Reading takes no privilege.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.evidence.counters import CounterSource, NvmlCounters, gpu_wire
from wirespeed.host.nvml import NvLink, Nvml

DATA_SENT, DATA_RECEIVED = 138, 139
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: payload alone, in KiB (nvml.h)."""
ALL_LINKS = 0xFFFFFFFF
UNIT = 1024


def find(devices: Sequence[Mapping[str, Any]]) -> CounterSource | None:
    """None where no NVIDIA GPU has an active link. Raises NvmlError."""
    nvml = Nvml.open_for(devices)
    if nvml is None:
        return None
    gpus = []
    for gpu, one in nvml.gpus(devices):
        if links := [link for link in nvml.links(gpu) if link.active]:
            facts = {"links": len(links), "ends": _ends(links)}
            wire = gpu_wire("nvlink", one, granularity=UNIT, facts=facts)
            gpus.append((gpu, wire, [link.number for link in links]))
    return NvmlCounters(nvml, gpus, (DATA_SENT, DATA_RECEIVED), ALL_LINKS) if gpus else None


def _ends(links: Sequence[NvLink]) -> dict[str, int]:
    """How many of the links lead to the GPU at each PCI address; empty where some lead to switches.

    Empty as well where the driver does not say, as in some virtual machines.
    """
    peers = Counter(link.peer for link in links)
    return {} if "" in peers or "switch" in peers else dict(peers)
