"""NCCL (on AMD's GPUs RCCL) between device buffers."""

from functools import partial

from wirespeed.paths import Switch, TransferPath

nccl = partial(TransferPath, transport="ccl", memory="device")
PATHS = (
    nccl("nccl", "NCCL send and receive between device buffers; the CPU waits after each iteration",
         options="iterations=host", order=40),
    nccl("nccl-stream", "NCCL send and receive, iterations enqueued in the GPU's stream, without the CPU",
         options="iterations=stream", order=41),
    nccl("nccl-nop2p", "NCCL with direct copies between GPUs switched off: through host memory",
         options="iterations=host;needs=NCCL_P2P_DISABLE=1", order=42, default=False,
         switch=Switch({"NCCL_P2P_DISABLE": "1"}, without="nccl")),
)  # fmt: skip
