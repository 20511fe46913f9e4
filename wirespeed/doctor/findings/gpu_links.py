"""Links between GPUs: no peer access, NVLinks that are down, NVSwitch fabrics that are not up."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Gpu, MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.grouping import grouped
from wirespeed.limits.rates import device_links

_PEER_SOURCE = "nvml.h: nvmlGpuP2PStatus_t; PCIe ACS: NCCL, Troubleshooting, 'PCI Access Control Services'"


def find(facts: MachineFacts) -> Iterator[Finding]:
    """For all GPUs, and for those with NVLinks: a single GPU has none to link to."""
    yield from _peer_access(facts)
    # A driver that says nothing of any link is no sign of a fault.
    gpus = [gpu for gpu in facts.real_gpus if gpu.nvlinks and not gpu.mig]
    if len(gpus) > 1:
        yield from _fabric(gpus)
        yield from _down(gpus)


def _active(gpu: Gpu) -> int:
    return sum(link.active for link in gpu.nvlinks)


def _expected(gpu: Gpu, gpus: list[Gpu]) -> int:
    """Links of a healthy board of this name: by its data sheet, else by the best identical one here."""
    known = device_links(gpu.name)
    return int(known["links"]) if known else max(_active(other) for other in gpus if other.name == gpu.name)


def _down(gpus: list[Gpu]) -> Iterator[Finding]:
    """Fewer links than the board has, or than its neighbours have."""
    links = [(gpu, _active(gpu), _expected(gpu, gpus)) for gpu in gpus]
    short = [(gpu, active, expected) for gpu, active, expected in links if active < expected]
    if not short:
        return
    share = min(active / expected for _, active, expected in short)
    evidence = []
    for gpu, active, expected in short[:8]:
        down = ", ".join([str(link.number) for link in gpu.nvlinks if not link.active][:18])
        which = f"; inactive: {down}" if down else ""
        evidence.append(f"{gpu.title}: {active} of {expected} NVLinks are active{which}")
    numbers = ",".join(str(gpu.index) for gpu, _, _ in short)
    yield Finding(
        "nvlink-down",
        f"NVLinks are down on {', '.join(gpu.title for gpu, _, _ in short)}: {share:.0%} of the bandwidth "
        "is left",
        Cost.HIGH if share <= 0.5 else Cost.SOME,
        tuple(evidence),
        (
            "nvidia-smi nvlink --status",
            "sudo dmesg | grep -i -e nvlink -e NVRM  # why a link went down",
            f"sudo nvidia-smi --gpu-reset -i {numbers}  "
            "# trains the links anew; all GPUs of an NVSwitch together, and nothing may run on them",
        ),
        source="NVML (nvmlDeviceGetNvLinkState); number of links: wirespeed/limits/links.toml",
    )


def _fabric(gpus: list[Gpu]) -> Iterator[Finding]:
    not_up = [gpu for gpu in gpus if gpu.fabric not in ("", "completed")]
    if not_up:
        yield Finding(
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


def _peer_access(facts: MachineFacts) -> Iterator[Finding]:
    """Pairs for which the driver refuses peer access, together where it gives the same reason.

    Of a GPU in slices the finding 'mig' says it.
    """
    names = {gpu.index: gpu.title for gpu in facts.gpus}
    split = {gpu.index for gpu in facts.gpus if gpu.mig}
    refused = (pair for pair in facts.pairs if pair.peer not in ("", "ok"))
    whole = (pair for pair in refused if not split & {pair.first, pair.second})
    for why, pairs in grouped((pair.peer, pair) for pair in whole).items():
        shown = ", ".join(f"{names[pair.first]} and {names[pair.second]}" for pair in pairs[:4])
        more = f", ... {len(pairs)} pairs" if len(pairs) > 4 else ""
        levels = (f"{names[p.first]} to {names[p.second]}: {p.level or 'unknown'} on PCIe" for p in pairs[:4])
        yield Finding(
            "peer-access",
            f"No peer access between {shown}{more}: their data goes through host memory",
            Cost.HIGH,
            (f"NVML (nvmlDeviceGetP2PStatus): {why}", *levels),
            _remedy(why),
            source=_PEER_SOURCE,
        )


def _remedy(why: str) -> tuple[str, ...]:
    if "registry key" in why:
        return (
            "grep -r NVreg_RegistryDwords /etc/modprobe.d  # take the key out, then load the driver anew",
        )
    if "topology" in why or "chipset" in why:
        return (
            "sudo lspci -vvv | grep ACSCtl  # SrcValid+: switch PCIe ACS off in the firmware (not in a VM)",
            "wirespeed pingpong --between 0,2  # pairs on the same PCIe switch or NVLink may do better",
        )
    return ("nvidia-smi topo -p2p r  # what the driver says of each pair",)
