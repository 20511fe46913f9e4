"""The other GPU's memory, opened within one host: written or read by copy engines and by kernels."""

from wirespeed.paths import Path

PATHS = (
    Path(
        "ipc-write",
        "the sender's host starts a write into the other GPU's memory: copy engine, or kernel where faster",
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
        "a copy kernel that the sender's host starts writes the other GPU's memory",
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
        "kernels write the other GPU's memory and signal it; iterations run without the CPU",
        "gpu",
        "device",
        needs_device=True,
        trial=True,
        order=58,
    ),
)
