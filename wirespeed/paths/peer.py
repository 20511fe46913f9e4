"""The other GPU's memory, opened within one host: written or read by copy engines and by kernels."""

from wirespeed.paths import Path

PATHS = (
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
