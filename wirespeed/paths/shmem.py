"""NVSHMEM, driven from the host."""

from wirespeed.paths import TransferPath

PATHS = (
    TransferPath("shmem", "NVSHMEM puts with a signal between device buffers, enqueued in a CUDA stream",
                 "shmem", "device", order=50, default=False),
)  # fmt: skip
