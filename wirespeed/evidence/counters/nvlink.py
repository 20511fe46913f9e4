"""NVLink: bytes of data that each GPU sent and received over all its links, and over each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.evidence.counters import CannotRead, CounterSource, Reading, Wire
from wirespeed.host.nvml import Gpu, Nvml

DATA_SENT, DATA_RECEIVED = 138, 139
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: payload alone, in KiB (nvml.h)."""
ALL_LINKS = 0xFFFFFFFF
UNIT = 1024


class NvLink(CounterSource):
    """The GPUs' own counters; reading them takes no privilege."""

    def __init__(self, nvml: Nvml, gpus: Sequence[tuple[Gpu, Mapping[str, Any], list[int]]]) -> None:
        """`gpus`: handle, identity and active links of each."""
        self._nvml, self._gpus = nvml, gpus
        self.wires = tuple(
            Wire(
                "nvlink",
                f"GPU {identity['index']}",
                str(identity["id"]),
                granularity=UNIT,
                facts={"links": len(links), "ends": nvml.link_ends(gpu, links)},
            )
            for gpu, identity, links in gpus
        )

    def read(self) -> list[Reading]:
        return [self._read(gpu, links) for gpu, _, links in self._gpus]

    def _read(self, gpu: Gpu, links: list[int]) -> Reading:
        asked = [(field, scope) for scope in (ALL_LINKS, *links) for field in (DATA_SENT, DATA_RECEIVED)]
        values = self._nvml.fields(gpu, asked)
        if values[0] is None or values[1] is None:
            raise CannotRead("the driver does not count the bytes of this GPU's links")
        pairs = list(zip(values[2::2], values[3::2], strict=True))
        parts = tuple((s * UNIT, r * UNIT) for s, r in pairs if s is not None and r is not None)
        return Reading(values[0] * UNIT, values[1] * UNIT, parts if len(parts) == len(links) else ())

    def close(self) -> None:
        self._nvml.close()


def find(devices: Sequence[Mapping[str, Any]]) -> CounterSource | None:
    """None where no NVIDIA GPU has an active link. Raises NvmlError."""
    nvml = Nvml.open_for(devices)
    gpus = [(gpu, one, nvml.active_links(gpu)) for gpu, one in nvml.gpus(devices)] if nvml else []
    linked = [one for one in gpus if one[2]]
    return NvLink(nvml, linked) if nvml and linked else None
