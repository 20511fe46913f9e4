"""The other GPU's memory, opened within one host: written or read by copy engines and by kernels."""

from wirespeed.paths import Path

PATHS = (
    Path(
        "ipc-write",
        "the sender's copy engine writes the other GPU's memory",
        "ipc",
        "device",
        options=(("by", "write"),),
        needs_device=True,
        trial=True,
        order=54,
    ),
    Path(
        "ipc-read",
        "the receiver's copy engine reads the other GPU's memory",
        "ipc",
        "device",
        options=(("by", "read"),),
        needs_device=True,
        trial=True,
        default=False,
        order=55,
    ),
    Path(
        "ipc-kernel",
        "a kernel started by the sender's host writes the other GPU's memory",
        "ipc",
        "device",
        options=(("by", "write"), ("copy", "kernel")),
        needs_device=True,
        trial=True,
        default=False,
        order=56,
    ),
    Path(
        "gpu",
        "kernels write the other GPU's memory and signal it, rounds played without the CPU",
        "gpu",
        "device",
        needs_device=True,
        trial=True,
        order=58,
    ),
)
