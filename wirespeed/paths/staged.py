"""Device buffers copied through host memory: around each MPI call, or in chunks meanwhile."""

from wirespeed.paths import Path

PATHS = (
    Path(
        "staged",
        "device buffers copied through pageable host memory around each MPI call",
        "staged",
        "device",
        options=(("through", "pageable"),),
        needs_device=True,
        staged=True,
        order=20,
    ),
    Path(
        "staged-pinned",
        "device buffers copied through pinned host memory around each MPI call",
        "staged",
        "device",
        options=(("through", "pinned"),),
        needs_device=True,
        staged=True,
        default=False,
        order=21,
    ),
    Path(
        "staged-pipelined",
        "device buffers through a ring of pinned chunks, both copies at once",
        "pipelined",
        "device",
        needs_device=True,
        staged=True,
        trial=True,
        order=22,
    ),
)
