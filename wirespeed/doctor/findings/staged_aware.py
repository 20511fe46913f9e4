"""An MPI that takes device pointers, and copies through the host without saying so."""

from __future__ import annotations

from wirespeed.doctor import switches
from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.parts import listed, part
from wirespeed.limits.ceilings import device_links, pcie_link
from wirespeed.report.records import Entry, Run
from wirespeed.report.words import rate
from wirespeed.units import format_size

LEAST = 4 << 20
"""Bytes of a message that shows the wire's rate, not the call's cost."""


def find(facts: Facts) -> list[Finding]:
    """GPUs that have NVLink, and figures of `aware` that PCIe alone could give."""
    found = []
    for run in (facts.trial, *reversed(facts.runs)):
        entries = [entry for entry in run.of_path("aware") if entry.bytes >= LEAST] if run else []
        if run is None or not entries:
            continue
        best = max(entries, key=lambda entry: entry.rate)
        # The first run that has such figures is the latest: older ones do not count.
        found = _judge(facts, run, best)
        break
    return found


def _judge(facts: Facts, run: Run, best: Entry) -> list[Finding]:
    step = run.step("aware")
    names = {str(part(rank, "device").get("name")) for rank in listed(step, "ranks")}
    links = device_links(names.pop()) if len(names) == 1 else None
    ceiling = run.ceiling("aware") if links else None
    if ceiling is None or links is None:
        return []
    host = pcie_link(links["pcie"])
    if best.rate > host["rate"]:
        return []
    mpi = part(step, "mpi")
    known = switches.of(str(mpi.get("vendor")))
    off = " ".join(f"{name}={value}" for name, value in known.direct_off.items()) if known else ""
    title = f"{known.name if known else 'MPI'} {mpi.get('version', '')}".strip()
    where = "tried now" if run is facts.trial else facts.file
    return [
        Finding(
            "mpi-stages",
            f"{title} takes device pointers, but moves them no faster than a copy through the host",
            Cost.HIGH,
            (
                f"{where}: aware reaches {rate(best.rate)} GB/s at {format_size(best.bytes)}",
                f"PCIe {host['name']} alone gives up to {rate(host['rate'])} GB/s, NVLink "
                f"{rate(ceiling.rate)} GB/s ({ceiling.equation})",
            ),
            (
                "env | grep -E 'UCX_|OMPI_MCA|MPIR_CVAR|MPICH_|MV2_|I_MPI_'  # is GPUDirect switched off?"
                + (f" It is by {off}" if off else ""),
                "wirespeed pingpong --paths aware,aware-nogdr,staged,nccl,ipc-write  # what is possible here",
            ),
            source="wirespeed/limits/links.toml; docs/gpu-aware-mpi.md",
        )
    ]
