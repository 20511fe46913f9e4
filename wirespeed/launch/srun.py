"""Slurm's srun, inside an allocation."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from wirespeed.launch import Job, spread
from wirespeed.mpi import Mpi


class Srun:
    name = "srun"
    variables = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")
    starts_mpi = ("openmpi", "mpich", "intel", "mvapich", "cray")
    order = 10

    def inside(self, environment: Mapping[str, str]) -> bool:
        # A batch script has SLURM_PROCID as well, but belongs to no step of srun's.
        return environment.get("SLURM_STEP_ID", "").isdigit()

    def usable(self, environment: Mapping[str, str]) -> bool:
        return "SLURM_JOB_ID" in environment and shutil.which("srun") is not None

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        # The wrong kind of PMI gives n worlds of one rank each, without an error.
        kind = {"openmpi": "pmix", "cray": "cray_shasta"}.get(mpi.vendor, "pmi2")
        command = ["srun", "-n", str(job.ranks), f"--mpi={kind}", "--kill-on-bad-exit=1", "--export=ALL"]
        if job.hosts:
            command += [
                f"--nodelist={','.join(job.hosts)}",
                f"--nodes={len(job.hosts)}",
                f"--ntasks-per-node={spread(job.hosts, job.ranks)}",
                "--distribution=block",
            ]
        return [*command, *job.command]


LAUNCHER = Srun()
