"""NCCL (on AMD's GPUs RCCL) between device buffers."""

from wirespeed.paths import Path

PATHS = (
    Path(
        "nccl",
        "NCCL send and receive between device buffers; the CPU waits after each iteration",
        "ccl",
        "device",
        library="nccl",
        options=(("iterations", "host"),),
        needs_device=True,
        trial=True,
        order=40,
    ),
    Path(
        "nccl-stream",
        "NCCL send and receive, iterations enqueued in the GPU's stream, without the CPU",
        "ccl",
        "device",
        library="nccl",
        options=(("iterations", "stream"),),
        needs_device=True,
        trial=True,
        order=41,
    ),
    Path(
        "nccl-nop2p",
        "NCCL kept from copying directly between GPUs: through host memory",
        "ccl",
        "device",
        library="nccl",
        options=(("iterations", "host"), ("needs", "NCCL_P2P_DISABLE=1")),
        needs_device=True,
        trial=True,
        default=False,
        order=42,
        variables={"NCCL_P2P_DISABLE": "1"},
        without="nccl",
    ),
)
