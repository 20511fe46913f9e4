"""An MPI that takes device pointers, but copies through the host without saying so."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.host.variables import switches_of
from wirespeed.limits import rates
from wirespeed.results.parts import LoadedMpi
from wirespeed.results.runs import Run
from wirespeed.units import format_rate, format_size

MIN_BYTES = 4 << 20
"""Bytes of a message that shows the link's rate, not the cost of a call."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """By the counters of the wires; where none were read, by a rate that PCIe alone could give.

    Only the latest run that has such figures counts.
    """
    for run in filter(None, (facts.trial, *reversed(facts.runs))):
        if run.head.plan.context == "own":
            continue
        seen = _counted(run)
        seen = _rated(run) if seen is None else seen
        if seen is not None:
            if seen:
                yield _finding(facts, run, seen)
            return


def _counted(run: Run) -> tuple[str, ...] | None:
    """What the counters show of the largest message: () that it is direct; None: they do not decide."""
    known = [proof for proof in run.evidence_of("aware") if proof.verdict != "unknown"]
    if not known:
        return None
    last = known[-1]
    if last.verdict != "staged":
        return ()
    return (f"counters of the wires at {format_size(last.bytes)}: {last.text}",)


def _rated(run: Run) -> tuple[str, ...] | None:
    """What its best rate shows, where there are links besides PCIe: () and None as for the counters."""
    entries = [entry for entry in run.of_path("aware") if entry.bytes >= MIN_BYTES]
    ranks = run.step("aware").ranks
    names = {rank.device.name if rank.device else "" for rank in ranks}
    devices = {rank.device.id if rank.device else "" for rank in ranks}
    if not entries or len(names) != 1 or len(devices) < len(ranks):
        return None
    name = names.pop()
    links, slot = rates.gpu_links(name), rates.slot_of(name)
    host = rates.pcie(*slot, to_device=False) if slot else None
    if links is None or host is None:
        return None
    best = max(entries, key=lambda entry: entry.rate)
    # Only a rate whose whole interval is below counts.
    if best.rate * best.seconds / best.low > host.rate:
        return ()
    return (
        f"aware reaches {format_rate(best.rate)} GB/s at {format_size(best.bytes)}",
        f"through the host up to {format_rate(host.rate)} GB/s ({host.equation}); "
        f"GPU to GPU {links.equation}",
    )


def _finding(facts: MachineFacts, run: Run, seen: tuple[str, ...]) -> Finding:
    mpi = run.step("aware").mpi or LoadedMpi()
    known = switches_of(mpi.vendor)
    off = " ".join(f"{name}={value}" for name, value in known.get("direct_off", {}).items())
    where = "tried now" if run is facts.trial else facts.file
    return Finding(
        "mpi-stages",
        f"{known.get('name', 'MPI')} {mpi.version}".strip()
        + " takes device pointers, but copies through the host",
        Cost.HIGH,
        (f"{where}: {seen[0]}", *seen[1:], *facts.ucx_choice),
        (
            "env | grep -E 'UCX_|OMPI_MCA|MPIR_CVAR|MPICH_|MV2_|I_MPI_'  # is GPUDirect switched off?"
            + (f" It is by {off}" if off else ""),
            "wirespeed pingpong --paths aware,aware-nogdr,staged,nccl,ipc-write  # what is possible here",
        ),
        source="wirespeed/evidence/verdict.py; wirespeed/limits/links.toml; docs/gpu-aware-mpi.md",
    )
