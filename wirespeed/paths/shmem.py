"""NVSHMEM, driven from the host."""

from wirespeed.paths import PUTS, TransferPath

PATHS = (
    TransferPath("shmem", "NVSHMEM puts with a signal between device buffers, enqueued in a CUDA stream",
                 "shmem", "device", trial=True, order=50, default=False, operations=PUTS),
)  # fmt: skip
