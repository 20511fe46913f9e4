"""Slurm's srun, inside an allocation."""

from __future__ import annotations

import os
from collections.abc import Mapping

from wirespeed.host.mpi import NAMES, Mpi
from wirespeed.launchers import Job, Launcher, spread


class Srun(Launcher):
    name = "srun"
    variables = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")
    starts_mpi = ("openmpi", "mpich", "intel", "mvapich", "cray")
    order = 10
    allocation = "SLURM_JOB_ID"

    def inside(self, environment: Mapping[str, str]) -> bool:
        # A batch script has SLURM_PROCID as well, but belongs to no step of srun's.
        return environment.get("SLURM_STEP_ID", "").isdigit()

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        # The wrong kind of PMI gives n worlds of one rank each, without an error.
        command = ["srun", "-n", str(job.ranks), f"--mpi={_kind_for(mpi.vendor)}"]
        command += ["--kill-on-bad-exit=1", "--export=ALL"]
        if self.inside(os.environ):
            # A step that holds the allocation's CPUs, a shell's: a second one would wait for its end.
            command.append("--overlap")
        if job.hosts:
            command += [
                f"--nodelist={','.join(job.hosts)}",
                f"--nodes={len(job.hosts)}",
                f"--ntasks-per-node={spread(job.hosts, job.ranks)}",
                "--distribution=block",
            ]
        return [*command, *job.command]


LAUNCHER = Srun()


def kind_of_pmi(environment: Mapping[str, str]) -> str | None:
    """KIND that srun was called with, in --mpi=KIND; None when no srun started this process itself."""
    inner = ("OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_RANK", "PALS_RANKID")
    if not LAUNCHER.inside(environment) or any(name in environment for name in inner):
        return None
    return "pmix" if "PMIX_RANK" in environment else "pmi2" if "PMI_FD" in environment else "none"


def other_kind(vendor: str, environment: Mapping[str, str]) -> str:
    """Kind to try when the ranks did not find each other, as the end of a sentence; '' without an srun."""
    kind, wanted = kind_of_pmi(environment), _kind_for(vendor)
    if kind is None or kind == wanted:
        return ""
    return f"; they were started by srun --mpi={kind}: use srun --mpi={wanted}"


def may_end_in_init(vendor: str, version: str, environment: Mapping[str, str]) -> str | None:
    """Warning before a library is asked to join that may end the process instead."""
    kind = kind_of_pmi(environment)
    if (vendor, kind) != ("mpich", "pmix") and ((vendor, kind) != ("openmpi", "none") or version >= "5"):
        return None
    return (
        f"joining through srun --mpi={kind}; if {NAMES[vendor]} ends here, use srun --mpi={_kind_for(vendor)}"
    )


def _kind_for(vendor: str) -> str:
    return {"openmpi": "pmix", "cray": "cray_shasta"}.get(vendor, "pmi2")
