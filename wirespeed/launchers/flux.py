"""Flux: `flux run` inside an instance."""

from __future__ import annotations

from wirespeed.host.mpi import Mpi
from wirespeed.launchers import Job, Launcher, spread


class Flux(Launcher):
    name = "flux"
    variables = ("FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID")
    starts_mpi = ("openmpi", "mpich", "intel", "mvapich", "cray")
    order = 11
    allocation = "FLUX_URI"

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        command = ["flux", "run", "-n", str(job.ranks)]
        if mpi.vendor == "openmpi":
            command += ["-o", "pmi=pmix"]
        if job.hosts:
            command += [
                f"--requires=hosts:{','.join(job.hosts)}",
                f"--nodes={len(job.hosts)}",
                f"--tasks-per-node={spread(job.hosts, job.ranks)}",
            ]
        return [*command, *job.command]


LAUNCHER = Flux()
