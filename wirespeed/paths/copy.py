"""Copies inside a rank: between a device and its host, and on the device itself."""

from wirespeed.paths import TransferPath

COPIES = (
    ("h2d-pageable", "pageable", "device", "host to device, from pageable memory"),
    ("h2d-pinned", "pinned", "device", "host to device, from pinned memory"),
    ("h2d-batch", "pinned", "device", "host to device, from pinned memory, a list of blocks by one call"),
    ("h2d-kernel", "pinned", "device", "host to device, by a kernel that reads pinned memory"),
    ("h2d-managed", "managed-host", "device", "host to device, from managed memory"),
    ("d2h-pageable", "device", "pageable", "device to host, into pageable memory"),
    ("d2h-pinned", "device", "pinned", "device to host, into pinned memory"),
    ("d2h-batch", "device", "pinned", "device to host, into pinned memory, a list of blocks by one call"),
    ("d2h-kernel", "device", "pinned", "device to host, by a kernel that writes pinned memory"),
    ("d2h-managed", "device", "managed-host", "device to host, into managed memory"),
    ("d2d", "device", "device", "on the device, by the driver's copy"),
    ("h2h", "pageable", "pageable", "in host memory, by the CPU"),
)
"""Name, memory that is read, memory that is written, summary."""
PATHS = tuple(
    TransferPath(*(name, summary, "copy", memory, options), order=number)
    for number, (name, memory, into, summary) in enumerate(COPIES, 200)
    for options in [
        f"into={into}" + ";by=kernel" * name.endswith("-kernel") + ";lists=batch" * name.endswith("-batch")
    ]
)
