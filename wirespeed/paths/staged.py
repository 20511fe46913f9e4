"""Device buffers copied through host memory: around each MPI call, or in chunks meanwhile."""

from functools import partial

from wirespeed.paths import TransferPath

staged = partial(TransferPath, memory="device")
PATHS = (
    staged("staged", "device buffers copied through pageable host memory around each MPI call",
           transport="staged", options="through=pageable", order=20),
    staged("staged-pinned", "device buffers copied through pinned host memory around each MPI call",
           transport="staged", options="through=pinned", order=21, default=False),
    staged("staged-pipelined", "device buffers through a ring of pinned chunks, both copies at once",
           transport="pipelined", order=22),
)  # fmt: skip
