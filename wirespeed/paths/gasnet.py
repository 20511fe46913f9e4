"""GASNet-EX on the host."""

from wirespeed.paths import TransferPath

PATHS = (
    TransferPath("gasnet", "GASNet-EX puts between segments in host memory, each followed by a signal",
                 "gasnet", "pageable", order=19, default=False),
)  # fmt: skip
