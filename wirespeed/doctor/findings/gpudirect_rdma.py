"""GPUDirect RDMA missing: network adapters that cannot reach GPU memory."""

from __future__ import annotations

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding

_PEER = ("nvidia_peermem", "nv_peer_mem")


def find(facts: Facts) -> list[Finding]:
    """Where there are both NVIDIA's GPUs and RDMA adapters, and no way between them."""
    gpus = [gpu for gpu in facts.real_gpus if gpu.kind == "cuda"]
    if not gpus or not facts.nics or facts.gpudirect.dmabuf:
        return []
    if any(module in _PEER for module in facts.gpudirect.modules):
        return []
    adapters = ", ".join(nic.name for nic in facts.nics[:8])
    return [
        Finding(
            "gpudirect-rdma",
            "No GPUDirect RDMA: GPU data for other hosts goes through host memory",
            Cost.HIGH,
            (
                f"RDMA adapters: {adapters}",
                "neither nvidia_peermem nor nv_peer_mem is loaded",
                f"DMA-BUF: {facts.gpudirect.why or 'not available'}",
            ),
            (
                "sudo modprobe nvidia_peermem  # comes with the driver since R470",
                "echo nvidia_peermem | sudo tee /etc/modules-load.d/nvidia-peermem.conf  # at each start",
            ),
            source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
        )
    ]
