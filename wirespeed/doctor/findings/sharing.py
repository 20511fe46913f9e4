"""GPUs that are split (MIG), closed to ranks (compute mode), or used by others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirespeed.doctor.facts.model import Gpu, MachineFacts
from wirespeed.doctor.finding import Cost, Finding


def find(facts: MachineFacts) -> Iterator[Finding]:
    """One finding for each kind, with all GPUs that it concerns."""
    gpus = facts.real_gpus
    if split := [gpu for gpu in gpus if gpu.mig]:
        slices = [name for gpu in split for name in gpu.slices]
        first = ",".join(f"cuda:{name}" for name in slices[:2])
        yield Finding(
            "mig",
            f"MIG is on for {_names(split)}: its slices have no peer access and no NVLink, and CUDA IPC "
            "works only inside one of them",
            Cost.HIGH,
            (
                "NVML (nvmlDeviceGetMigMode): enabled",
                *(f"{gpu.title}: {', '.join(gpu.slices) or 'no slice has been made'}" for gpu in split),
            ),
            (
                f"sudo nvidia-smi -i {_numbers(split)} -mig 0  # whole GPUs again; they must be idle",
                *(
                    [f"wirespeed pingpong --device {first}  # a rank on each slice"]
                    if len(slices) > 1
                    else []
                ),
            ),
            source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
        )
    if closed := [gpu for gpu in gpus if gpu.compute_mode == "prohibited"]:
        yield Finding(
            "compute-mode",
            f"Nothing may compute on {_names(closed)}",
            Cost.BREAKS,
            ("NVML (nvmlDeviceGetComputeMode): prohibited",),
            (f"sudo nvidia-smi -i {_numbers(closed)} -c DEFAULT",),
            source="nvidia-smi(1), -c",
        )
    if single := [gpu for gpu in gpus if gpu.compute_mode == "exclusive"]:
        yield Finding(
            "compute-mode",
            f"{_names(single)}: one process at a time; more ranks than GPUs will fail",
            Cost.SMALL,
            ("NVML (nvmlDeviceGetComputeMode): exclusive process",),
            (
                f"sudo nvidia-smi -i {_numbers(single)} -c DEFAULT",
                "nvidia-cuda-mps-control -d  # or share it by MPS",
            ),
            source="nvidia-smi(1), -c; https://docs.nvidia.com/deploy/mps/",
        )
    yield from _others(gpus)


def _names(gpus: Iterable[Gpu]) -> str:
    return ", ".join(gpu.title for gpu in gpus)


def _numbers(gpus: Iterable[Gpu]) -> str:
    return ",".join(str(gpu.index) for gpu in gpus)


def _others(gpus: Iterable[Gpu]) -> Iterator[Finding]:
    """Processes of others, but not the server by which processes share a GPU on purpose."""
    by_gpu = {
        gpu: [process for process in gpu.processes if process.name != "nvidia-cuda-mps-server"]
        for gpu in gpus
    }
    busy = {gpu: processes for gpu, processes in by_gpu.items() if processes}
    if not busy:
        return
    evidence = []
    for gpu, processes in busy.items():
        for process in processes[:4]:
            size = f", {process.bytes / 2**30:.1f} GiB" if process.bytes else ""
            evidence.append(f"{gpu.title}: pid {process.pid} {process.name}{size}".rstrip())
    pids = ",".join(dict.fromkeys(str(process.pid) for processes in busy.values() for process in processes))
    yield Finding(
        "gpu-shared",
        f"Others compute on {_names(busy)}: figures show what they leave over",
        Cost.SOME,
        tuple(evidence),
        (f"ps -o pid,user,etime,args -p {pids}  # whose are they?",),
    )
