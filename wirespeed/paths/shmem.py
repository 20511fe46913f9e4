"""NVSHMEM, driven from the host."""

from wirespeed.paths import Path

PATHS = (
    Path(
        "shmem",
        "NVSHMEM puts with a signal between device buffers, enqueued in a CUDA stream",
        "shmem",
        "device",
        library="nvshmem",
        needs_device=True,
        trial=True,
        default=False,
        order=50,
    ),
)
