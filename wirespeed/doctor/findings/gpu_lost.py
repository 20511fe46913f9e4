"""GPUs that their driver counts, but cannot reach."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding


def find(facts: MachineFacts) -> Iterator[Finding]:
    """All others are measured as if these were not there, so it costs them nothing."""
    for gpu in facts.gpus:
        # A batch system may keep a job from GPUs that are not its own.
        if gpu.lost and "ermission" not in gpu.lost:
            where = f" at {gpu.pci}" if gpu.pci else ""
            said = gpu.lost.rpartition(": ")[2]
            state = "is lost (NVML)" if "lost" in said else f"does not answer (NVML: {said})"
            yield Finding(
                "gpu-lost",
                f"GPU {gpu.index} {state}, not used here",
                Cost.SMALL,
                (f"{gpu.lost}; {gpu.index} is its number in nvidia-smi{where}",),
                (
                    "sudo dmesg | grep -e Xid -e 'fallen off the bus'  # why: Xid 79: PCIe link, power",
                    f"sudo nvidia-smi --gpu-reset -i {gpu.index}  # else restart the machine; then its slot, "
                    "its power cables, its cooling",
                ),
                source="nvml.h: NVML_ERROR_GPU_IS_LOST; https://docs.nvidia.com/deploy/xid-errors/: Xid 79",
            )
