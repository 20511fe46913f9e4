"""GPUs that are split (MIG), closed to ranks (compute mode), or used by others."""

from __future__ import annotations

from wirespeed.doctor.facts.model import Facts, Gpu, Process
from wirespeed.doctor.finding import Cost, Finding


def find(facts: Facts) -> list[Finding]:
    """One finding for each kind, with all GPUs that it concerns."""
    gpus = facts.real_gpus
    return [*_mig(gpus), *_prohibited(gpus), *_exclusive(gpus), *_others(gpus)]


def _names(gpus: list[Gpu]) -> str:
    return ", ".join(gpu.title for gpu in gpus)


def _mig(gpus: tuple[Gpu, ...]) -> list[Finding]:
    split = [gpu for gpu in gpus if gpu.mig]
    if not split:
        return []
    numbers = ",".join(str(gpu.index) for gpu in split)
    return [
        Finding(
            "mig",
            f"MIG is on for {_names(split)}: its instances have no peer access, no NVLink and no CUDA IPC",
            Cost.HIGH,
            ("NVML (nvmlDeviceGetMigMode): enabled",),
            (f"sudo nvidia-smi -i {numbers} -mig 0  # the GPU must be idle",),
            source="https://docs.rapids.ai/deployment/stable/guides/mig",
        )
    ]


def _prohibited(gpus: tuple[Gpu, ...]) -> list[Finding]:
    closed = [gpu for gpu in gpus if gpu.compute_mode == "prohibited"]
    if not closed:
        return []
    numbers = ",".join(str(gpu.index) for gpu in closed)
    return [
        Finding(
            "compute-mode",
            f"Nothing may compute on {_names(closed)}",
            Cost.BREAKS,
            ("NVML (nvmlDeviceGetComputeMode): prohibited",),
            (f"sudo nvidia-smi -i {numbers} -c DEFAULT",),
            source="nvidia-smi(1), -c",
        )
    ]


def _exclusive(gpus: tuple[Gpu, ...]) -> list[Finding]:
    closed = [gpu for gpu in gpus if gpu.compute_mode == "exclusive"]
    if not closed:
        return []
    numbers = ",".join(str(gpu.index) for gpu in closed)
    return [
        Finding(
            "compute-mode",
            f"{_names(closed)}: one process at a time; more ranks than GPUs will fail",
            Cost.SMALL,
            ("NVML (nvmlDeviceGetComputeMode): exclusive process",),
            (f"sudo nvidia-smi -i {numbers} -c DEFAULT", "nvidia-cuda-mps-control -d  # or share it by MPS"),
            source="nvidia-smi(1), -c; https://docs.nvidia.com/deploy/mps/",
        )
    ]


def _strangers(gpu: Gpu) -> list[Process]:
    """Without the server by which processes share a GPU on purpose."""
    return [one for one in gpu.processes if one.name != "nvidia-cuda-mps-server"]


def _others(gpus: tuple[Gpu, ...]) -> list[Finding]:
    busy = [gpu for gpu in gpus if _strangers(gpu)]
    if not busy:
        return []
    evidence = []
    for gpu in busy:
        for one in _strangers(gpu)[:4]:
            size = f", {one.bytes / 2**30:.1f} GiB" if one.bytes else ""
            evidence.append(f"{gpu.title}: pid {one.pid} {one.name}{size}".rstrip())
    pids = " ".join(dict.fromkeys(str(one.pid) for gpu in busy for one in _strangers(gpu)))
    return [
        Finding(
            "gpu-shared",
            f"Somebody else computes on {_names(busy)}: figures are what is left over",
            Cost.SOME,
            tuple(evidence),
            (f"ps -o pid,user,etime,args -p {pids.replace(' ', ',')}  # whose are they?",),
        )
    ]
