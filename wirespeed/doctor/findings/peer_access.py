"""GPUs that cannot reach each other's memory."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Facts, GpuPair
from wirespeed.doctor.finding import Cost, Finding

_SOURCE = "nvml.h: nvmlGpuP2PStatus_t; PCIe ACS: NCCL, Troubleshooting, 'PCI Access Control Services'"


def find(facts: Facts) -> Iterator[Finding]:
    """Pairs for which the driver refuses peer access, together where it gives the same reason."""
    names = {gpu.index: gpu.title for gpu in facts.gpus}
    refused: dict[str, list[GpuPair]] = {}
    for pair in facts.pairs:
        if pair.peer not in ("", "ok"):
            refused.setdefault(pair.peer, []).append(pair)
    for why, pairs in refused.items():
        shown = ", ".join(f"{names[pair.first]} and {names[pair.second]}" for pair in pairs[:4])
        more = f", ... {len(pairs)} pairs" if len(pairs) > 4 else ""
        yield Finding(
            "peer-access",
            f"No peer access between {shown}{more}: their data goes through host memory",
            Cost.HIGH,
            (
                f"NVML (nvmlDeviceGetP2PStatus): {why}",
                *(
                    f"{names[p.first]} to {names[p.second]}: {p.level or 'unknown'} on PCIe"
                    for p in pairs[:4]
                ),
            ),
            _remedy(why),
            source=_SOURCE,
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
