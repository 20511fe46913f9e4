"""NVLinks that are down, and NVSwitch fabrics that are not up."""

from __future__ import annotations

from wirespeed.doctor.facts.model import Facts, Gpu
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.limits.rates import device_links


def find(facts: Facts) -> list[Finding]:
    """Fewer links than the board has, or than its neighbours have. One GPU alone has nobody to link to."""
    # A driver that says nothing of any link is no sign of a fault.
    gpus = [gpu for gpu in facts.real_gpus if gpu.nvlinks and not gpu.mig]
    if len(gpus) < 2:
        return []
    return [*_fabric(gpus), *_down(gpus)]


def _active(gpu: Gpu) -> int:
    return sum(link.active for link in gpu.nvlinks)


def _expected(gpu: Gpu, gpus: list[Gpu]) -> int:
    """Links that a healthy board of this name has: its data sheet's, else its best twin's here."""
    known = device_links(gpu.name)
    if known:
        return int(known["links"])
    return max(_active(other) for other in gpus if other.name == gpu.name)


def _down(gpus: list[Gpu]) -> list[Finding]:
    short = [gpu for gpu in gpus if _active(gpu) < _expected(gpu, gpus)]
    if not short:
        return []
    worst = min(short, key=lambda gpu: _active(gpu) / _expected(gpu, gpus))
    share = _active(worst) / _expected(worst, gpus)
    names = ", ".join(gpu.title for gpu in short)
    evidence = []
    for gpu in short[:8]:
        down = [str(link.number) for link in gpu.nvlinks if not link.active]
        which = f"; inactive: {', '.join(down[:18])}" if down else ""
        evidence.append(f"{gpu.title}: {_active(gpu)} of {_expected(gpu, gpus)} NVLinks are active{which}")
    return [
        Finding(
            "nvlink-down",
            f"NVLinks are down on {names}: {share:.0%} of the bandwidth is left",
            Cost.HIGH if share <= 0.5 else Cost.SOME,
            tuple(evidence),
            (
                "nvidia-smi nvlink --status",
                "sudo dmesg | grep -i -e nvlink -e NVRM  # why a link went down",
                f"sudo nvidia-smi --gpu-reset -i {','.join(str(gpu.index) for gpu in short)}  "
                "# trains the links anew; all GPUs of an NVSwitch together, and nothing may run on them",
            ),
            source="NVML (nvmlDeviceGetNvLinkState); number of links: wirespeed/limits/links.toml",
        )
    ]


def _fabric(gpus: list[Gpu]) -> list[Finding]:
    not_up = [gpu for gpu in gpus if gpu.fabric not in ("", "completed")]
    if not not_up:
        return []
    return [
        Finding(
            "nvswitch-fabric",
            "The NVSwitch fabric is not up: CUDA does not start, or runs without NVLink",
            Cost.BREAKS,
            tuple(f"{gpu.title}: fabric {gpu.fabric}" for gpu in not_up[:8]),
            (
                "systemctl status nvidia-fabricmanager",
                "sudo systemctl enable --now nvidia-fabricmanager  # of the driver's own version",
            ),
            source="NVML (nvmlDeviceGetGpuFabricInfo); https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/",
        )
    ]
