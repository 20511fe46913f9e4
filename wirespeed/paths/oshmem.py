"""OpenSHMEM on the host."""

from wirespeed.paths import TransferPath

PATHS = (
    TransferPath("oshmem", "OpenSHMEM puts between symmetric heaps in host memory, each followed by a signal",
                 "oshmem", "pageable", order=18, default=False),
)  # fmt: skip
