"""Copies inside a rank: between a device and its host, and on the device itself."""

from __future__ import annotations

from wirespeed.paths import Path


def _copy(name: str, source: str, into: str, summary: str, order: int) -> Path:
    return Path(
        name=name,
        summary=summary,
        transport="copy",
        memory=source,
        into=into,
        options=(("into", into),),
        needs_device=True,
        intra_rank=True,
        order=order,
    )


PATHS = (
    _copy("h2d-pageable", "pageable", "device", "host to device, from pageable memory", 200),
    _copy("h2d-pinned", "pinned", "device", "host to device, from pinned memory", 201),
    _copy("h2d-managed", "managed-host", "device", "host to device, from managed memory", 202),
    _copy("d2h-pageable", "device", "pageable", "device to host, into pageable memory", 203),
    _copy("d2h-pinned", "device", "pinned", "device to host, into pinned memory", 204),
    _copy("d2h-managed", "device", "managed-host", "device to host, into managed memory", 205),
    _copy("d2d", "device", "device", "on the device, by the driver's copy", 206),
    Path(
        name="h2h",
        summary="in host memory, by the CPU",
        transport="copy",
        memory="pageable",
        into="pageable",
        options=(("into", "pageable"),),
        intra_rank=True,
        order=207,
    ),
)
