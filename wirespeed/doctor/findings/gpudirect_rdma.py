"""GPUDirect RDMA missing: network adapters that cannot reach GPU memory."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding

_PEER = {"nvidia_peermem", "nv_peer_mem"}


def find(facts: Facts) -> Iterator[Finding]:
    """Where there are both NVIDIA GPUs and RDMA adapters, and no way between them."""
    if not facts.nics or not any(gpu.kind == "cuda" for gpu in facts.real_gpus):
        return
    if facts.gpudirect.dmabuf or _PEER & set(facts.gpudirect.modules):
        return
    yield Finding(
        "gpudirect-rdma",
        "No GPUDirect RDMA: GPU data for other hosts goes through host memory",
        Cost.HIGH,
        (
            f"RDMA adapters: {facts.nic_names}",
            "neither nvidia_peermem nor nv_peer_mem is loaded",
            f"DMA-BUF: {facts.gpudirect.why or 'not available'}",
        ),
        (
            "sudo modprobe nvidia_peermem  # comes with the driver since R470",
            "echo nvidia_peermem | sudo tee /etc/modules-load.d/nvidia-peermem.conf  # at each start",
        ),
        source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
    )
