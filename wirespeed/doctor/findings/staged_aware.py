"""An MPI that takes device pointers, and copies through the host without saying so."""

from __future__ import annotations

from wirespeed.doctor import switches
from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.limits import rates
from wirespeed.results.parts import LoadedMpi
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

LEAST = 4 << 20
"""Bytes of a message that shows the wire's rate, not the call's cost."""


def find(facts: Facts) -> list[Finding]:
    """By the counters of the wires; where none were read, by a rate that PCIe alone could give.

    The first run that has such figures is the latest: older ones do not count.
    """
    for run in (facts.trial, *reversed(facts.runs)):
        if run is None:
            continue
        counted = _counted(run)
        seen = _rated(run) if counted is None else counted
        if seen is not None:
            return [_finding(facts, run, seen)] if seen else []
    return []


def _counted(run: Run) -> tuple[str, ...] | None:
    """What the counters tell of the largest message: () that it went straight, None nothing."""
    proofs = [run.evidence[key] for key in sorted(run.evidence) if key[0] == "aware"]
    told = [proof for proof in proofs if proof.verdict in ("staged", "direct", "pcie")]
    if not told:
        return None
    last = told[-1]
    if last.verdict != "staged":
        return ()
    return (f"counters of the wires at {format_size(last.bytes)}: {last.text}",)


def _rated(run: Run) -> tuple[str, ...] | None:
    """What its best rate tells, where there are links beside PCIe."""
    entries = [entry for entry in run.of_path("aware") if entry.bytes >= LEAST]
    ranks = run.step("aware").ranks
    names = {rank.device.name if rank.device else "" for rank in ranks}
    devices = {rank.device.id if rank.device else "" for rank in ranks}
    links = rates.gpu_links(next(iter(names))) if len(names) == 1 else None
    slot = rates.slot_of(names.pop()) if links else None
    host = rates.pcie(*slot, to_device=False) if slot else None
    if not entries or links is None or host is None or len(devices) < len(ranks):
        return None
    best: Entry = max(entries, key=lambda entry: entry.rate)
    if best.rate > host.value:
        return ()
    return (
        f"aware reaches {format_rate(best.rate)} GB/s at {format_size(best.bytes)}",
        f"through the host up to {format_rate(host.value)} GB/s ({host.text}); GPU to GPU {links.text}",
    )


def _finding(facts: Facts, run: Run, seen: tuple[str, ...]) -> Finding:
    mpi = run.step("aware").mpi or LoadedMpi()
    known = switches.of(mpi.vendor)
    off = " ".join(f"{name}={value}" for name, value in known.direct_off.items()) if known else ""
    title = f"{known.name if known else 'MPI'} {mpi.version}".strip()
    where = "tried now" if run is facts.trial else facts.file
    first, *others = seen
    return Finding(
        "mpi-stages",
        f"{title} takes device pointers, but copies through the host",
        Cost.HIGH,
        (f"{where}: {first}", *others),
        (
            "env | grep -E 'UCX_|OMPI_MCA|MPIR_CVAR|MPICH_|MV2_|I_MPI_'  # is GPUDirect switched off?"
            + (f" It is by {off}" if off else ""),
            "wirespeed pingpong --paths aware,aware-nogdr,staged,nccl,ipc-write  # what is possible here",
        ),
        source="wirespeed/evidence/verdict.py; wirespeed/limits/links.toml; docs/gpu-aware-mpi.md",
    )
