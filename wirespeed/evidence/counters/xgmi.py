"""xGMI: bytes that each AMD GPU wrote to and read from others over its links, from AMD SMI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from wirespeed.evidence.counters import CannotRead, CounterSource, Reading, gpu_wire

UNIT = 1024
"""amdsmi_get_link_metrics counts in KiB since the driver was loaded (AMD SMI's Python reference)."""


class Xgmi(CounterSource):
    """The GPUs' own counters, as the package amdsmi, which ROCm brings, reads them."""

    def __init__(self, library: Any, gpus: Sequence[tuple[Any, Mapping[str, Any]]]) -> None:
        self._library, self._gpus = library, gpus
        self.wires = tuple(
            gpu_wire("xgmi", one, granularity=UNIT, facts={"links": len(self._links(gpu))})
            for gpu, one in gpus
        )

    def _links(self, gpu: Any) -> list[Mapping[str, Any]]:
        try:
            links = self._library.amdsmi_get_link_metrics(gpu)["links"]
        except (self._library.AmdSmiException, KeyError) as error:
            raise CannotRead(f"amdsmi_get_link_metrics: {error}") from None
        xgmi = self._library.AmdSmiLinkType.AMDSMI_LINK_TYPE_XGMI
        return [link for link in links if link.get("link_type") == xgmi]

    def read(self, parts: bool = True) -> list[Reading]:
        found = []
        for gpu, _ in self._gpus:
            try:
                each = self._links(gpu)
                links = tuple((int(link["write"]) * UNIT, int(link["read"]) * UNIT) for link in each)
            except (KeyError, ValueError, TypeError):
                raise CannotRead("the driver does not count the bytes of this GPU's links") from None
            found.append(Reading(sum(part[0] for part in links), sum(part[1] for part in links), links))
        return found

    def close(self) -> None:
        with suppress(self._library.AmdSmiException):
            self._library.amdsmi_shut_down()


def find(devices: Sequence[Mapping[str, Any]]) -> CounterSource | None:
    """None where there is no AMD GPU, or ROCm's package amdsmi is not installed."""
    ours = [device for device in devices if device.get("kind") == "hip" and device.get("pci")]
    if not ours:
        return None
    try:
        import amdsmi
    except (ImportError, OSError):
        return None
    return open_with(amdsmi, ours)


def open_with(library: Any, devices: Sequence[Mapping[str, Any]]) -> CounterSource | None:
    """`library`: the module amdsmi, or a stand-in for tests. None where no GPU has a link."""
    try:
        library.amdsmi_init()
        gpus = [
            (library.amdsmi_get_processor_handle_from_bdf(str(device["pci"])), device) for device in devices
        ]
    except library.AmdSmiException as error:
        raise CannotRead(f"amdsmi: {error}") from None
    source = Xgmi(library, gpus)
    if any(wire.facts["links"] for wire in source.wires):
        return source
    source.close()
    return None
